use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Account, Error, Readiness, Running, ServerPlace, files, program};

/// Serves the files of one directory, and PHP scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nginx {
    pub root: PathBuf,
    /// Unix socket of [`crate::php_fpm::PhpFpm`], or `address:port`. Paths without a file go to
    /// `index.php`. `None` to serve files only.
    pub php: Option<String>,
    /// Directives for the `server` block, with semicolons.
    pub directives: Vec<String>,
}

impl Nginx {
    /// An ordinary account, so ports below 1024 need the host's permission.
    ///
    /// # Errors
    /// Fails only with [`Error::NoAccount`].
    pub fn account() -> Result<Account, Error> {
        Account::unprivileged("www-data")
    }

    /// Starts the server and returns when it listens.
    pub fn start(&self, place: &ServerPlace<'_>) -> Result<Running, Error> {
        let account = Self::account()?;
        files::make_directory(place.directory, account)?;
        let configuration = place.directory.join("nginx.conf");
        files::write(&configuration, &self.configuration(place), account)?;
        let mut command = Command::new(program::require("nginx", PACKAGE)?);
        command
            .arg("-e")
            .arg("stderr")
            .arg("-c")
            .arg(&configuration)
            .arg("-p")
            .arg(place.directory)
            .current_dir("/");
        Running::start(
            command,
            place,
            account,
            libc::SIGTERM,
            &Readiness::Port(place.port),
        )
    }

    fn configuration(&self, place: &ServerPlace<'_>) -> String {
        let directory = place.directory.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .iter()
            .map(|name| format!("    {name}_temp_path {directory}/{name};\n"))
            .collect();
        let types: String = TYPES
            .iter()
            .map(|(content, names)| format!("        {content} {names};\n"))
            .collect();
        let directives: String = self
            .directives
            .iter()
            .map(|line| format!("        {line}\n"))
            .collect();
        format!(
            "daemon off;\nworker_processes 1;\npid {directory}/pid;\nerror_log stderr;\n\
             events {{ worker_connections 1024; }}\n\
             http {{\n    access_log off;\n    default_type application/octet-stream;\n{temporary}\
             \x20   types {{\n{types}    }}\n    server {{\n        listen {listen}:{port};\n\
             \x20       root \"{root}\";\n        index index.php index.html;\n{directives}{locations}    }}\n}}\n",
            listen = place.listen,
            port = place.port,
            root = self.root.display(),
            locations = self.php.as_deref().map(php_locations).unwrap_or_default(),
        )
    }
}

fn php_locations(php: &str) -> String {
    let address = if Path::new(php).is_absolute() {
        format!("unix:{php}")
    } else {
        php.to_owned()
    };
    let parameters: String = FASTCGI
        .iter()
        .map(|(name, value)| format!("            fastcgi_param {name} {value};\n"))
        .collect();
    format!(
        "        location / {{ try_files $uri $uri/ /index.php?$args; }}\n\
         \x20       location ~ \\.php$ {{\n            try_files $uri =404;\n            fastcgi_pass {address};\n\
         \x20           fastcgi_index index.php;\n{parameters}        }}\n"
    )
}

const PACKAGE: &str = "nginx-light";
const TYPES: [(&str, &str); 9] = [
    ("text/html", "html htm"),
    ("text/css", "css"),
    ("text/plain", "txt"),
    ("text/javascript", "js"),
    ("application/json", "json"),
    ("image/svg+xml", "svg"),
    ("image/png", "png"),
    ("image/jpeg", "jpg jpeg"),
    ("font/woff2", "woff2"),
];
/// Parameters required by CGI (RFC 3875) and PHP.
const FASTCGI: [(&str, &str); 16] = [
    ("SCRIPT_FILENAME", "$document_root$fastcgi_script_name"),
    ("QUERY_STRING", "$query_string"),
    ("REQUEST_METHOD", "$request_method"),
    ("CONTENT_TYPE", "$content_type"),
    ("CONTENT_LENGTH", "$content_length"),
    ("SCRIPT_NAME", "$fastcgi_script_name"),
    ("REQUEST_URI", "$request_uri"),
    ("DOCUMENT_URI", "$document_uri"),
    ("DOCUMENT_ROOT", "$document_root"),
    ("SERVER_PROTOCOL", "$server_protocol"),
    ("GATEWAY_INTERFACE", "CGI/1.1"),
    ("SERVER_SOFTWARE", "nginx/$nginx_version"),
    ("REMOTE_ADDR", "$remote_addr"),
    ("SERVER_ADDR", "$server_addr"),
    ("SERVER_PORT", "$server_port"),
    ("REDIRECT_STATUS", "200"),
];
