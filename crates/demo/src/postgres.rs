//! PostgreSQL's protocol in front of a session: what `pgwire` asks of a server.

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

/// The handlers of one connection.
pub(crate) struct Handlers(Arc<Conversation>);

/// One client's conversation. It answers simple and extended queries from the same session.
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
    /// Runs one statement; while another connection's transaction blocks it, waits for its end, up to a
    /// limit.
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
                    // Results of the statements before are sent too; the statements after are not run.
                    responses.push(Response::Error(refused));
                    break;
                }
            }
        }
        Ok(responses)
    }
}

/// The extended protocol's side of a conversation.
struct Extended(Arc<Conversation>);

#[async_trait]
impl ExtendedQueryHandler for Extended {
    type Statement = Prepared;
    type QueryParser = Conversation;

    fn query_parser(&self) -> Arc<Conversation> {
        Arc::clone(&self.0)
    }

    /// `pgwire` reserves room for as many rows as the client says it wants, so a number above the rows that a
    /// result can have becomes 0, which is "all"; so does a negative one, as in PostgreSQL.
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
        // A client cannot encode a value of unknown type; text is what it may send for anything.
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

/// How long a statement waits for another connection's transaction to end.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause between two tries at a lock.
const LOCK_PAUSE: Duration = Duration::from_millis(2);
