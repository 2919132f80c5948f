//! What a server may not have: ACL categories for the commands of modules, options of modules.
#![allow(unsafe_code)]

use std::ffi::CStr;

use valkey_module::{Context, ModuleOptions, raw};

/// The category of all commands of the module.
const CATEGORY: &CStr = c"kbf";

/// Each command with its categories. Those of Redis' own commands are by their flags.
const COMMANDS: [(&CStr, &CStr); 8] = [
    (c"kbf.create", c"write slow kbf"),
    (c"kbf.insert", c"write slow kbf"),
    (c"kbf.query", c"read slow kbf"),
    (c"kbf.update", c"write slow kbf"),
    (c"kbf.delete", c"write slow kbf"),
    (c"kbf.join", c"write slow kbf"),
    (c"kbf.compress", c"write slow kbf"),
    (c"kbf.info", c"read slow kbf"),
];

/// The option of a module whose data may be in a slot that Valkey 9 migrates as a whole. There it is
/// without a name in the interface of Redis.
const HANDLE_ATOMIC_SLOT_MIGRATION: i32 = 1 << 5;

/// Adds the category, where the server knows categories of modules (Redis 7.4, Valkey 8).
pub fn add_category(ctx: &Context) {
    // SAFETY: the server has set the pointer when it loaded the module, and nothing changes it.
    let add = unsafe { raw::RedisModule_AddACLCategory };
    if let Some(add) = add {
        // SAFETY: the context is that of loading, and the name ends with a zero.
        unsafe { add(ctx.get_raw(), CATEGORY.as_ptr()) };
    }
}

/// Puts the commands into their categories, where the server knows categories of modules.
pub fn set_categories(ctx: &Context) {
    // SAFETY: as above.
    let functions = unsafe {
        let own = raw::RedisModule_AddACLCategory;
        (raw::RedisModule_GetCommand, raw::RedisModule_SetCommandACLCategories, own)
    };
    let (Some(get), Some(set), Some(_)) = functions else { return };
    for (name, categories) in COMMANDS {
        // SAFETY: as above; a command that is not found is null, and left alone.
        unsafe {
            let command = get(ctx.get_raw(), name.as_ptr());
            if !command.is_null() {
                set(command, categories.as_ptr());
            }
        }
    }
}

/// Declares what the module can deal with. Servers ignore bits that they do not know.
pub fn set_options(ctx: &Context) {
    ctx.set_module_options(ModuleOptions::from_bits_retain(HANDLE_ATOMIC_SLOT_MIGRATION));
}
