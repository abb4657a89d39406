//! PostgreSQL's protocol with `pgwire`, in front of a session.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::Sink;
use pgwire::api::auth::StartupHandler;
use pgwire::api::auth::noop::NoopStartupHandler;
use pgwire::api::portal::{Format, Portal};
use pgwire::api::query::{ExtendedQueryHandler, SimpleQueryHandler};
use pgwire::api::results::{FieldInfo, Response};
use pgwire::api::stmt::QueryParser;
use pgwire::api::store::PortalStore;
use pgwire::api::{ClientInfo, ClientPortalStore, PgWireServerHandlers, Type};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::extendedquery::Execute;
use pgwire::messages::response::TransactionStatus;
use rusqlite::types::Value;

use crate::session::{Prepared, ROW_LIMIT, Session};
use crate::sqlstate::{LOCK_NOT_AVAILABLE, Refusal, error};
use crate::{statement, values};

pub(crate) struct Handlers(Arc<Conversation>);

/// One client's session, for simple and extended queries.
struct Conversation {
    session: Session,
}

impl Handlers {
    pub(crate) fn new(session: Session) -> Handlers {
        Handlers(Arc::new(Conversation { session }))
    }
}

impl PgWireServerHandlers for Handlers {
    fn simple_query_handler(&self) -> Arc<impl SimpleQueryHandler> {
        Arc::clone(&self.0)
    }

    fn extended_query_handler(&self) -> Arc<impl ExtendedQueryHandler> {
        Arc::new(Extended(Arc::clone(&self.0)))
    }

    fn startup_handler(&self) -> Arc<impl StartupHandler> {
        Arc::clone(&self.0)
    }
}

impl NoopStartupHandler for Conversation {}

impl Conversation {
    /// Waits, up to a limit, while another connection's transaction blocks the statement.
    async fn run(
        &self,
        sql: &str,
        parameters: &[Value],
        format: Option<&Format>,
        aborted: bool,
    ) -> Result<Response, Refusal> {
        let asked = Instant::now();
        loop {
            match self.session.run(sql, parameters, format, aborted) {
                Err(refused) if refused.code == LOCK_NOT_AVAILABLE && asked.elapsed() < LOCK_TIMEOUT => {
                    tokio::time::sleep(LOCK_PAUSE).await;
                }
                answer => return answer,
            }
        }
    }
}

#[async_trait]
impl SimpleQueryHandler for Conversation {
    async fn do_query<C>(&self, client: &mut C, query: &str) -> PgWireResult<Vec<Response>>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        let statements = statement::statements(query);
        if statements.is_empty() {
            return Ok(vec![Response::EmptyQuery]);
        }
        let aborted = is_aborted(client);
        let mut responses = Vec::new();
        for sql in statements {
            match self.run(sql, &[], None, aborted).await {
                Ok(response) => responses.push(response),
                Err(refused) => {
                    // Results of earlier statements are sent; later statements do not run.
                    responses.push(Response::Error(refused));
                    break;
                }
            }
        }
        Ok(responses)
    }
}

struct Extended(Arc<Conversation>);

#[async_trait]
impl ExtendedQueryHandler for Extended {
    type Statement = Prepared;
    type QueryParser = Conversation;

    fn query_parser(&self) -> Arc<Conversation> {
        Arc::clone(&self.0)
    }

    /// `pgwire` reserves memory for the requested number of rows. Numbers beyond the maximum of a
    /// result become 0, meaning all; so do negative ones, as in PostgreSQL.
    async fn on_execute<C>(&self, client: &mut C, mut message: Execute) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        if usize::try_from(message.max_rows).is_ok_and(|rows| rows > ROW_LIMIT) || message.max_rows < 0 {
            message.max_rows = 0;
        }
        self._on_execute(client, message).await
    }

    async fn do_query<C>(
        &self,
        client: &mut C,
        portal: &Portal<Prepared>,
        _max_rows: usize,
    ) -> PgWireResult<Response>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        let prepared = &portal.statement.statement;
        let parameters = parameters(portal).map_err(PgWireError::UserError)?;
        let format = Some(&portal.result_column_format);
        let response = self
            .0
            .run(&prepared.sql, &parameters, format, is_aborted(client))
            .await
            .map_err(PgWireError::UserError)?;
        if let Response::Query(result) = &response
            && result.row_schema.len() != prepared.columns.len()
        {
            return Err(PgWireError::UserError(error(
                "0A000",
                "cached plan must not change result type",
            )));
        }
        Ok(response)
    }
}

#[async_trait]
impl QueryParser for Conversation {
    type Statement = Prepared;

    async fn parse_sql<C>(
        &self,
        _client: &C,
        sql: &str,
        types: &[Option<Type>],
    ) -> PgWireResult<Option<Prepared>>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        match statement::statements(sql).as_slice() {
            [] => Ok(None),
            [one] => self
                .session
                .prepare(one, types)
                .map(Some)
                .map_err(PgWireError::UserError),
            _ => Err(PgWireError::UserError(error(
                "42601",
                "cannot insert multiple commands into a prepared statement",
            ))),
        }
    }

    fn get_parameter_types(&self, prepared: &Prepared) -> PgWireResult<Vec<Type>> {
        // Clients cannot encode values of unknown types, but can send text for all.
        let known = |datatype: &Type| {
            if *datatype == Type::UNKNOWN {
                Type::TEXT
            } else {
                datatype.clone()
            }
        };
        Ok(prepared.parameters.iter().map(known).collect())
    }

    fn get_result_schema(
        &self,
        prepared: &Prepared,
        format: Option<&Format>,
    ) -> PgWireResult<Vec<FieldInfo>> {
        let schema = values::schema(&prepared.columns, format).map_err(PgWireError::UserError)?;
        Ok(Arc::unwrap_or_clone(schema))
    }
}

fn parameters(portal: &Portal<Prepared>) -> Result<Vec<Value>, Refusal> {
    let expected = &portal.statement.statement.parameters;
    let given = &portal.parameters;
    if given.len() != expected.len() {
        let message = format!(
            "bind message supplies {} parameters, but {} are needed",
            given.len(),
            expected.len()
        );
        return Err(error("08P01", message));
    }
    let value = |(index, (bytes, datatype)): (usize, (&Option<_>, &Type))| {
        let format = values::format_of(Some(&portal.parameter_format), index)?;
        values::parameter(bytes.as_deref(), datatype, format)
    };
    given.iter().zip(expected).enumerate().map(value).collect()
}

fn is_aborted(client: &impl ClientInfo) -> bool {
    matches!(client.transaction_status(), TransactionStatus::Error)
}

const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

const LOCK_PAUSE: Duration = Duration::from_millis(2);
