//! Services of AWS: DynamoDB, S3, and those that name their operation.

use super::reply::{MatchText, Reading, Reads, Sign};
use super::{Call, Dialect, Fit, json, page, target, words};
use memchr::memrchr;
use model::{CallSyntax, Protocol};

pub(super) const DYNAMODB: Dialect = Dialect {
    reads: Reading::ByName(|name| match name.split(|&byte| byte == b' ').next() {
        Some(operation) if is_of_one_item(operation) => Reads::Nothing,
        _ => Reads::Members(
            const {
                &[
                    Sign::failed(1, b"UnprocessedKeys"),
                    Sign::failed(1, b"UnprocessedItems"),
                    Sign::rows(1, b"Count"),
                ]
            },
        ),
    }),
    ..Dialect::new(
        Protocol::Dynamodb,
        |call| Fit::in_body(call.clues.amz_target.starts_with(b"DynamoDB")),
        name_item,
    )
};

pub(super) const S3: Dialect = Dialect {
    // Objects deleted together, and uploads put together, fail in a reply of success.
    reads: Reading::ByName(|name| match name.starts_with(b"POST ") {
        true => Reads::Text(MatchText::Anywhere(b"<Error>")),
        false => Reads::Nothing,
    }),
    ..Dialect::new(
        Protocol::S3,
        |call| Fit::named(call.clues.amz_target.is_empty() && is_s3(call)),
        name_object,
    )
};

pub(super) const AWS: Dialect = Dialect {
    reads: Reading::Same(Reads::Members(&[
        Sign::failed(1, b"Failed"),
        Sign::failed(1, b"FailedPutCount"),
        Sign::failed(1, b"FailedRecordCount"),
        Sign::failed(1, b"FailedEntryCount"),
    ])),
    ..Dialect::new(
        Protocol::Aws,
        |call| match (call.clues.amz_target, service(call)) {
            ([], Some(_)) if call.is_post() && call.clues.is_form() => Fit::InBody,
            ([], service) => Fit::named(service.is_some()),
            (_, Some(_)) => Fit::Named,
            (target, None) => Fit::named(call.is_post() && target.contains(&b'.')),
        },
        name_operation,
    )
};

fn name_item(call: &Call<'_>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    let operation = behind_last(call.clues.amz_target, b'.');
    if is_of_one_item(operation)
        && let Some(table) = json::first_outer(call.body, b"TableName")
    {
        return words(text, &[operation, table.string().unwrap_or_default()]);
    }
    let names = [
        b"TableName".as_slice(),
        b"RequestItems",
        b"ExclusiveStartKey",
        b"Limit",
    ];
    let [table, items, start, limit] = json::outer(call.body, names);
    let table = table
        .and_then(|table| table.string())
        .or_else(|| json::key_inside(&items?))
        .or_else(|| json::members(call.body, &[b"TableName"]).next());
    words(text, &[operation, table.unwrap_or_default()])?;
    Some(page(start.is_some(), limit.and_then(|limit| limit.number())))
}

fn is_of_one_item(operation: &[u8]) -> bool {
    matches!(operation, b"GetItem" | b"PutItem" | b"UpdateItem" | b"DeleteItem")
}

fn name_object(call: &Call<'_>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    words(text, &[call.method])?;
    text.extend_from_slice(b" /");
    let mut parts = target::parts(call.path);
    let bucket = bucket_of_host(call.clues.host).or_else(|| parts.next());
    text.extend_from_slice(bucket.unwrap_or_default());
    if parts.next().is_some() {
        text.extend_from_slice(b"/?");
    }
    let names = target::parameters(call.query).map(|(name, _)| name);
    let mut separator = b'?';
    for name in names.filter(|name| SETTINGS.contains(name)) {
        text.push(std::mem::replace(&mut separator, b'&'));
        text.extend_from_slice(name);
    }
    let is_next = PAGES
        .iter()
        .any(|name| call.parameter(name).is_some_and(|value| !value.is_empty()));
    let limit = call.parameter(b"max-keys").and_then(target::number);
    Some(page(is_next, limit))
}

fn name_operation(call: &Call<'_>, text: &mut Vec<u8>) -> Option<CallSyntax> {
    let clues = call.clues;
    if !clues.amz_target.is_empty() {
        return words(text, &[clues.amz_target]);
    }
    let action = target::parameter(call.body, b"Action").or_else(|| call.parameter(b"Action"))?;
    words(text, &[service(call).unwrap_or(b"aws")])?;
    text.push(b'.');
    text.extend_from_slice(action);
    Some(CallSyntax::Words)
}

fn is_s3(call: &Call<'_>) -> bool {
    let is_old = || {
        let rest = call.clues.authorization.strip_prefix(b"AWS ");
        rest.is_some_and(|rest| rest.contains(&b':'))
    };
    service(call).is_some_and(|service| service == b"s3" || service == b"s3express") || is_old()
}

// `.../20261127/us-east-1/SERVICE/aws4_request`.
fn service<'a>(call: &Call<'a>) -> Option<&'a [u8]> {
    let authorization = call.clues.authorization;
    if authorization.starts_with(b"AWS4-") {
        let scope = authorization
            .split(|&byte| matches!(byte, b',' | b' '))
            .find_map(|part| part.strip_prefix(b"Credential="));
        return scope?.rsplit(|&byte| byte == b'/').nth(1);
    }
    let scope = call.parameter(b"X-Amz-Credential")?;
    let mut parts = scope.rsplit(|&byte| byte == b'/');
    if let (Some(_), Some(service)) = (parts.next(), parts.next()) {
        return Some(service);
    }
    let (is_s3, is_express) = (
        scope.ends_with(b"%2Fs3%2Faws4_request"),
        scope.ends_with(b"%2Fs3express%2Faws4_request"),
    );
    (is_s3 || is_express).then_some(b"s3")
}

// `BUCKET.s3.amazonaws.com`, `BUCKET.s3.REGION.amazonaws.com`.
fn bucket_of_host(host: &[u8]) -> Option<&[u8]> {
    let place = [b".s3.".as_slice(), b".s3-"]
        .iter()
        .find_map(|mark| host.windows(mark.len()).position(|part| part == *mark))?;
    host.get(..place)
}

fn behind_last(text: &[u8], mark: u8) -> &[u8] {
    memrchr(mark, text).map_or(text, |place| &text[place + 1..])
}

const PAGES: [&[u8]; 5] = [
    b"continuation-token",
    b"marker",
    b"start-after",
    b"key-marker",
    b"part-number-marker",
];

const SETTINGS: [&[u8]; 24] = [
    b"list-type",
    b"prefix",
    b"delimiter",
    b"uploads",
    b"uploadId",
    b"partNumber",
    b"delete",
    b"tagging",
    b"acl",
    b"versions",
    b"versioning",
    b"versionId",
    b"location",
    b"policy",
    b"lifecycle",
    b"cors",
    b"encryption",
    b"website",
    b"notification",
    b"select",
    b"restore",
    b"attributes",
    b"retention",
    b"legal-hold",
];
