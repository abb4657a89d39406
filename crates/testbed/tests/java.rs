use testbed::{JavaProgram, java, process};

#[test]
fn a_program_is_compiled_and_finds_the_driver_that_maven_fetched() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let source = directory.path().join("Drivers.java");
    std::fs::write(&source, DRIVERS).expect("it can be written");
    let jars = java::jars(&["org.postgresql:postgresql:42.7.4"]);
    let program = JavaProgram::compile(&source, &jars);
    assert_eq!(process::run(program.command(&jars)), "org.postgresql.Driver 42\n");
    assert_eq!(
        process::run(program.command(&[])),
        "",
        "without the jar there is no driver"
    );
}

const DRIVERS: &str = r#"
public class Drivers {
    public static void main(String[] arguments) {
        java.sql.DriverManager.drivers().forEach(
            driver -> System.out.println(driver.getClass().getName() + " " + driver.getMajorVersion()));
    }
}
"#;
