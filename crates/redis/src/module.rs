//! What is declared when the module is loaded.
#![allow(missing_docs)] // of the functions that the macro makes

use valkey_module::alloc::ValkeyAlloc;
use valkey_module::logging::log_warning;
use valkey_module::{Context, Status, ValkeyString, valkey_module};

use crate::server;

valkey_module! {
    name: "acsm_kbf",
    version: 1,
    allocator: (ValkeyAlloc, ValkeyAlloc),
    data_types: [],
    preload: before_commands,
    init: after_commands,
    commands: [],
}

fn before_commands(ctx: &Context, _args: &[ValkeyString]) -> Status {
    server::add_category(ctx);
    Status::Ok
}

fn after_commands(ctx: &Context, _args: &[ValkeyString]) -> Status {
    // A daemon has no standard error: the place of a defect goes to the server's log.
    std::panic::set_hook(Box::new(|defect| log_warning(defect.to_string())));
    server::set_options(ctx);
    server::set_categories(ctx);
    Status::Ok
}
