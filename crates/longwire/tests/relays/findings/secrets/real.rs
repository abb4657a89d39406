//! Logins of real clients to real servers.

use super::{LITERAL, PASSWORD, USER};
use testbed::{MariaDb, Postgres, Redis};

pub struct Login {
    pub name: &'static str,
    pub target: String,
    pub words: Vec<String>,
}

pub struct Servers {
    postgres: Postgres,
    mariadb: MariaDb,
    redis: Redis,
}

impl Servers {
    pub fn start() -> Self {
        let servers = Self {
            postgres: Postgres::start(),
            mariadb: MariaDb::start(),
            redis: Redis::start(),
        };
        servers.know_users();
        servers
    }

    pub fn ports(&self) -> [u16; 3] {
        [self.postgres.port(), self.mariadb.port(), self.redis.port()]
    }

    fn know_users(&self) {
        let file = self.postgres.sql("show hba_file");
        let methods = ["password", "md5", "scram-sha-256"];
        let lines = methods.map(|method| format!("host all {} all {method}\n", postgres_user(method)));
        let others = "local all all trust\nhost all postgres all trust\n";
        std::fs::write(file.trim(), lines.concat() + others).expect("it can be written");
        for method in methods {
            let kind = if method == "md5" { "md5" } else { "scram-sha-256" };
            self.postgres.sql(&format!(
                "set password_encryption = '{kind}'; create user {} password '{PASSWORD}'",
                postgres_user(method)
            ));
        }
        self.postgres.sql("select pg_reload_conf()");
        self.mariadb.sql(&format!(
            "install soname 'auth_ed25519'; create user native identified via mysql_native_password using password('{PASSWORD}'); \
             create user edwards identified via ed25519 using password('{PASSWORD}')"
        ));
        let mut cli = Redis::client_at("redis-cli", self.redis.port());
        cli.args(["acl", "setuser", USER, "on", "allcommands", "allkeys"]);
        testbed::process::run({
            cli.arg(format!(">{PASSWORD}"));
            cli
        });
    }

    pub fn logins(&self) -> Vec<Login> {
        let postgres = |name, method: &str| {
            let user = postgres_user(method);
            let statement = format!("select '{LITERAL}'");
            Login {
                name,
                target: format!(
                    "postgres://{user}:{PASSWORD}@127.0.0.1:{}/postgres",
                    self.postgres.port()
                ),
                words: shell(&format!(
                    "psql -X -q -c \"{statement}\" > /dev/null; PGPASSWORD=x{PASSWORD} psql -X -q -c '' 2> /dev/null || true"
                )),
            }
        };
        let mariadb = |name, user: &str| {
            let reach = format!(
                "--no-defaults --protocol=tcp --host=$MYSQL_HOST --port=$MYSQL_TCP_PORT --user={user}"
            );
            Login {
                name,
                target: format!("mysql://{user}:{PASSWORD}@127.0.0.1:{}/", self.mariadb.port()),
                words: shell(&format!(
                    "mariadb {reach} -e \"select '{LITERAL}', password('{LITERAL}')\" > /dev/null || exit 1; \
                     mariadb {reach} --compress -e 'select 1' > /dev/null; MYSQL_PWD=x{PASSWORD} mariadb {reach} -e '' 2> /dev/null || true"
                )),
            }
        };
        vec![
            postgres("psql, password in clear", "password"),
            postgres("psql, MD5", "md5"),
            postgres("psql, SCRAM-SHA-256", "scram-sha-256"),
            mariadb("mariadb, native password", "native"),
            mariadb("mariadb, ed25519", "edwards"),
            self.redis_login(),
        ]
    }

    /// All forms of AUTH, HELLO with AUTH, a wrong one, and commands that contain other secrets.
    fn redis_login(&self) -> Login {
        let cli = "redis-cli --no-auth-warning -h $LONGWIRE_HOST -p $LONGWIRE_PORT";
        let commands = [
            format!("{cli} --user {USER} --pass {PASSWORD} set key {LITERAL}"),
            format!("{cli} -3 --user {USER} --pass {PASSWORD} get key"),
            format!("{cli} auth {USER} {PASSWORD}"),
            format!("{cli} auth x{PASSWORD}"),
            format!("{cli} hello 3 auth {USER} {PASSWORD} setname app"),
            format!("{cli} hello 2 auth {USER} x{PASSWORD}"),
            format!("{cli} config set masterauth {LITERAL}"),
            format!("{cli} acl setuser other on '>{LITERAL}'"),
            format!("printf 'AUTH {USER} {PASSWORD}\\r\\nPING\\r\\n' | {cli} --pipe --pipe-timeout 2"),
        ];
        Login {
            name: "redis-cli",
            target: format!("redis://{USER}:{PASSWORD}@127.0.0.1:{}", self.redis.port()),
            words: shell(&(commands.join(" > /dev/null\n") + " > /dev/null || true")),
        }
    }
}

fn postgres_user(method: &str) -> &'static str {
    match method {
        "password" => "clear",
        "md5" => "digest",
        _ => "scram",
    }
}

fn shell(script: &str) -> Vec<String> {
    vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()]
}
