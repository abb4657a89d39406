//! Compares expressions, including random ones, with pgbench itself.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use load::script::{Action, Quoting, Scripts};
use std::io::Write;
use std::sync::{Arc, Mutex};
use testbed::Postgres;

const EXPRESSIONS: &str = r"
1 + 2 * 3 - 4 / 3 % 5
-7 / 2
-7 % 3
7 % -3
mod(-7, 3)
- 2 + 3
-(2 + 3) * +4
--5
9223372036854775807
-9223372036854775808
-9223372036854775808 % -1
1.5 + 2
7 / 2.0
1e3
1.5e-7
.5 + 5.
1e15
123456789012345678.0
0.1 + 0.2
1.0 / 3
1e300 * 1e300
-1e300 * 1e300
1 / 0.0
5 & 3 | 8 # 1
1 << 4 + 1
-16 >> 2
1 << 65
~5
~5 + 1
~ 5 & 3
1 < 2
1 <= 1.0
2 > 1 and 2 >= 3
1 = 1.0
1 <> 2 or 1 != 1
not 1 = 2
not true or true
not false and false
null and true
false and null
true and null
null or true
true or 1 / 0 = 1
null = null
null + 1
null is null
1 is not null
1 isnull
null notnull
true is true
1 is true
false is not false
null is true
1 < 2 is true
case when 1 > 2 then 1 when 2 > 1 then 2 else 3 end
case when null then 1 else 2 end
case when 0 then 1 when 0.5 then 2 end
CASE WHEN FALSE THEN 1 END
abs(-3)
abs(-3.5)
abs(3)
double(3)
double(5432)
exp(1.0)
exp(0)
greatest(5, 4, 3, 2)
greatest(1, 2.5)
greatest(3)
least(5, 4, 3, 2.1)
least(5, 4)
int(5.4 + 3.8)
int(2.5)
int(3.5)
int(-2.5)
ln(2.718281828459045)
ln(10)
ln(0)
pi()
pow(2.0, 10)
power(2, 0.5)
power(0, -1)
sqrt(2.0)
sqrt(16)
sqrt(-1)
hash(10)
hash(10, 5432)
hash_murmur2(10, 5432)
hash_fnv1a(10, 5432)
hash_fnv1a(-1, -1)
HASH_FNV1A(10)
hash(-9223372036854775808, 0)
permute(0, 4)
permute(123, 1000, 42)
permute(-1, 1000, 42)
permute(5, 1, 0)
permute(5, 2, 0)
permute(5, 3, 7)
permute(1234567890123, 9223372036854775807, 11)
permute(99, 100, 5432)
random(1, 10)
random(1, 1000000)
random(7, 7)
random(-5000, 5000)
random(0, 9223372036854775806)
random_exponential(1, 1000, 2.5)
random_exponential(1, 10, 10.0)
random_gaussian(1, 1000, 2.5)
random_gaussian(1, 10, 2)
random_zipfian(1, 1000, 1.5)
random_zipfian(1, 10, 1.001)
random_zipfian(1, 1, 3)
random_zipfian(1, 1000000, 2.5)
permute(random(1, 100000), 100000, :default_seed)
:client_id
:random_seed
:default_seed
:scale
:given
:given * 2
:half / 2
:yes and true
:nothing is null
:zzz + 1
";

/// pgbench's `debug` output, evaluated twice, so that random functions advance.
fn by_pgbench(server: &Postgres, script: &std::path::Path, seed: u64, clients: u32) -> Vec<String> {
    let output = server
        .client("pgbench")
        .args(["-n", "-t", "2", "-j", "1", "-s", "3"])
        .args(["-c", &clients.to_string()])
        .args(DEFINED.iter().map(|(name, value)| format!("-D{name}={value}")))
        .arg(format!("--random-seed={seed}"))
        .arg("-f")
        .arg(script)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    said.lines()
        .filter(|line| line.starts_with("debug("))
        .map(|line| line.split_once(": ").unwrap().1.to_owned())
        .collect()
}

fn by_us(text: &str, seed: u64, clients: u32) -> Vec<String> {
    let said = Arc::new(Mutex::new(Vec::new()));
    let mut scripts = Scripts::new(Quoting::Standard);
    scripts.add("script", text, 1).unwrap();
    for (name, value) in DEFINED {
        scripts.define(name, value).unwrap();
    }
    scripts.define("scale", "3").unwrap();
    let keep = said.clone();
    scripts.on_debug(Arc::new(move |line| {
        keep.lock()
            .unwrap()
            .push(line.rsplit_once("debug: ").unwrap().1.to_owned());
    }));
    let script = &scripts.list()[0];
    for client in 0..clients {
        let mut values = scripts.values(client, clients, seed);
        for _ in 0..2 {
            let mut at = 0;
            while values.next(script, &mut at).unwrap() != Action::End {}
        }
    }
    said.lock().unwrap().clone()
}

const DEFINED: [(&str, &str); 5] = [
    ("given", "21"),
    ("half", "0.5"),
    ("yes", "on"),
    ("nothing", "null"),
    ("zzz", " -4"),
];

#[test]
fn expressions_have_the_values_that_pgbench_gives_them() {
    let server = Postgres::start();
    let expressions: Vec<&str> = EXPRESSIONS.lines().filter(|line| !line.is_empty()).collect();
    let text: String = expressions
        .iter()
        .map(|expression| format!("\\set x debug({expression})\n"))
        .collect();
    let mut script = tempfile::NamedTempFile::new().unwrap();
    script.write_all(text.as_bytes()).unwrap();
    for seed in [1, 42, 18_446_744_073_709_551_615] {
        let (theirs, ours) = (by_pgbench(&server, script.path(), seed, 1), by_us(&text, seed, 1));
        assert_eq!(theirs.len(), 2 * expressions.len());
        for ((expression, theirs), ours) in expressions.iter().cycle().zip(&theirs).zip(&ours) {
            assert_eq!(ours, theirs, "{expression} with seed {seed}");
        }
        assert_eq!(ours.len(), theirs.len());
    }
    // pgbench interleaves the clients of a thread: same lines, another order.
    let mut theirs = by_pgbench(&server, script.path(), 7, 3);
    let mut ours = by_us(&text, 7, 3);
    theirs.sort();
    ours.sort();
    assert_eq!(ours, theirs);
}
