//! The table that a bench prints. What counts in it are ratios within one run: absolute times are
//! those of this machine, now.

/// One line of the table.
pub struct Row<'a> {
    /// What was measured.
    pub name: &'a str,
    /// Its median time.
    pub nanos_per_packet: f64,
    /// Its time divided by the baseline's.
    pub ratio: f64,
    /// The ratio that was promised, if one was.
    pub ratio_max: Option<f64>,
    /// What the store takes, if there is one.
    pub memory_bytes: Option<u64>,
}

/// Prints what the columns are.
pub fn head(title: &str) {
    println!("\n{title}");
    println!("{:30} {:>9} {:>6} {:>10}  target", "", "ns/packet", "ratio", "memory");
}

impl Row<'_> {
    /// Prints the line.
    pub fn print(&self) {
        let mebibytes = |bytes| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        let memory = self.memory_bytes.map_or(String::new(), mebibytes);
        let verdict = self.ratio_max.map_or(String::new(), |most| {
            let word = if self.ratio <= most { "pass" } else { "FAIL" };
            format!("{most:.2} or less: {word}")
        });
        let Row { name, nanos_per_packet, ratio, .. } = self;
        println!("{name:30} {nanos_per_packet:9.1} {ratio:6.2} {memory:>10}  {verdict}");
    }
}
