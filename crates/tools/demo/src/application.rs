//! One page of the shop, requested in two ways.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::Error;
use crate::client::{Client, Row};
use crate::shop::CATEGORIES;

/// A web shop's page of one category. Each page opens a connection.
#[derive(Debug, Clone, Copy)]
pub struct ShopApplication {
    category: &'static str,
}

/// Both variants return the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageVariant {
    /// One statement for the products, then per product one for the author and one for the reviews,
    /// in sequence.
    Chatty,
    Joined,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchedPage {
    pub rows: usize,
    /// Statements sent, one round trip each. Connecting and login take two more.
    pub statements: usize,
    /// FNV-1a of the content.
    pub checksum: u64,
    /// From before connecting until the goodbye is handed to the kernel, without think time.
    pub duration: Duration,
}

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    title: String,
    price_cents: String,
    author: String,
    reviews: String,
    /// Sum of the stars, `None` without reviews.
    stars: Option<String>,
}

impl ShopApplication {
    pub fn new() -> ShopApplication {
        ShopApplication {
            category: CATEGORIES[0],
        }
    }

    /// Fetches the page from the shop at `server`, or through a relay in front of it.
    pub fn page(&self, server: SocketAddr, variant: PageVariant) -> Result<FetchedPage, Error> {
        let started = Instant::now();
        let mut visit = Visit {
            client: Client::connect(server)?,
            server,
            statements: 0,
        };
        let entries = match variant {
            PageVariant::Chatty => visit.chatty(self.category)?,
            PageVariant::Joined => visit.joined(self.category)?,
        };
        let statements = visit.statements;
        visit.client.close()?;
        Ok(FetchedPage {
            rows: entries.len(),
            statements,
            checksum: checksum(&entries),
            duration: started.elapsed(),
        })
    }
}

impl Default for ShopApplication {
    fn default() -> Self {
        ShopApplication::new()
    }
}

struct Visit {
    client: Client,
    server: SocketAddr,
    statements: usize,
}

impl Visit {
    fn chatty(&mut self, category: &str) -> Result<Vec<Entry>, Error> {
        let products = self.run_query(&format!(
            "SELECT id, title, price_cents, author_id FROM products WHERE category = '{category}' ORDER BY id"
        ))?;
        let mut entries = Vec::new();
        for product in products {
            let [id, title, price_cents, author_id] = self.take_columns(product, "product")?;
            let author_id = self.present(author_id, "author's number")?;
            let id = self.present(id, "product's number")?;
            let author = self.run_query(&format!("SELECT name FROM authors WHERE id = {author_id}"))?;
            let [author] = self.take_only(author, "author")?;
            let reviews = self.run_query(&format!(
                "SELECT count(*), sum(stars) FROM reviews WHERE product_id = {id}"
            ))?;
            let [reviews, stars] = self.take_only(reviews, "reviews")?;
            entries.push(self.entry([title, price_cents, author, reviews, stars])?);
        }
        Ok(entries)
    }

    fn joined(&mut self, category: &str) -> Result<Vec<Entry>, Error> {
        let rows = self.run_query(&format!(
            "SELECT p.title, p.price_cents, a.name, count(r.id), sum(r.stars) FROM products p \
             JOIN authors a ON a.id = p.author_id LEFT JOIN reviews r ON r.product_id = p.id \
             WHERE p.category = '{category}' GROUP BY p.id ORDER BY p.id"
        ))?;
        let mut entries = Vec::new();
        for row in rows {
            let columns = self.take_columns(row, "product")?;
            entries.push(self.entry(columns)?);
        }
        Ok(entries)
    }

    fn run_query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        self.statements += 1;
        self.client.query(sql)
    }

    fn take_columns<const N: usize>(
        &self,
        row: Row,
        what: &'static str,
    ) -> Result<[Option<String>; N], Error> {
        row.try_into().map_err(|_| Error::Incomplete {
            server: self.server,
            missing: what,
        })
    }

    fn take_only<const N: usize>(
        &self,
        rows: Vec<Row>,
        what: &'static str,
    ) -> Result<[Option<String>; N], Error> {
        let row = rows.into_iter().next().ok_or(Error::Incomplete {
            server: self.server,
            missing: what,
        })?;
        self.take_columns(row, what)
    }

    fn entry(&self, columns: [Option<String>; 5]) -> Result<Entry, Error> {
        let [title, price_cents, author, reviews, stars] = columns;
        Ok(Entry {
            title: self.present(title, "title")?,
            price_cents: self.present(price_cents, "price")?,
            author: self.present(author, "author")?,
            reviews: self.present(reviews, "number of reviews")?,
            stars,
        })
    }

    fn present(&self, value: Option<String>, what: &'static str) -> Result<String, Error> {
        value.ok_or(Error::Incomplete {
            server: self.server,
            missing: what,
        })
    }
}

/// 64-bit FNV-1a over the entries' texts, each ended by a byte that occurs in no text.
fn checksum(entries: &[Entry]) -> u64 {
    let fields = entries.iter().flat_map(|entry| {
        let stars = entry.stars.as_deref().unwrap_or("\u{fffd}");
        [
            &entry.title,
            &entry.price_cents,
            &entry.author,
            &entry.reviews,
            stars,
        ]
    });
    let bytes = fields.flat_map(|field| field.bytes().chain([0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
