-- The round trip from this database to another one, over the database link {LINK}.
-- Run it with SQL*Plus or SQLcl and keep what it prints:
--     sqlplus -S USER@DATABASE @ping.sql > ping.out
--     longwire read ping.out
-- It reads DUAL of the far database {CALLS} times{MANY} and changes nothing. Times are of this database's clock.
-- To count the round trips of each call the user needs SELECT on V_$MYSTAT and V_$STATNAME.
set serveroutput on size unlimited format wrapped
set feedback off verify off define off linesize 200 trimspool on termout on
declare
  type texts_table is table of varchar2(1400) index by pls_integer;
  far_call constant varchar2(200) := 'select 1 from dual@{LINK}';
  far_rows constant varchar2(300) := 'select rpad(''x'', 1400, ''x'') from dual@{LINK} connect by level <= {ROWS}';
  calls    constant pls_integer := {CALLS};
  row_calls constant pls_integer := case when {ROWS} > 0 then 5 else 0 end;
  started  timestamp with time zone;
  took     number;
  turns    number;
  failed   pls_integer := 0;
  taken    pls_integer := 0;

  -- Round trips of this session over database links so far; null where the user may not know.
  function roundtrips return number is
    total number;
  begin
    execute immediate
      'select sum(s.value) from v$mystat s join v$statname n on n.statistic# = s.statistic# '
      || 'where n.name = ''SQL*Net roundtrips to/from dblink''' into total;
    return total;
  exception when others then return null;
  end;

  function microseconds(from_time timestamp with time zone, to_time timestamp with time zone) return number is
    span interval day(9) to second(6) := to_time - from_time;
  begin
    return round((extract(day from span) * 86400 + extract(hour from span) * 3600
      + extract(minute from span) * 60 + extract(second from span)) * 1000000);
  end;

  procedure call_far is
    before_call number := roundtrips;
    ended timestamp with time zone;
    one pls_integer;
  begin
    started := systimestamp;
    execute immediate far_call into one;
    ended := systimestamp;
    took := microseconds(started, ended);
    turns := roundtrips - before_call;
  end;

  procedure call_rows is
    before_call number := roundtrips;
    ended timestamp with time zone;
    texts texts_table;
  begin
    started := systimestamp;
    execute immediate far_rows bulk collect into texts;
    ended := systimestamp;
    took := microseconds(started, ended);
    turns := roundtrips - before_call;
  end;

  function figures return varchar2 is
  begin
    return ' us=' || to_char(took, 'FM99999999999999990') || ' roundtrips=' || nvl(to_char(turns, 'FM9999999990'), '-');
  end;
begin
  dbms_output.put_line('{MARK} begin schema=1 kind=oracle link={LINK} calls=' || calls);
  -- The first call opens the link; the second finds it open and its statement known.
  call_far;
  dbms_output.put_line('{MARK} connect' || figures);
  call_far;
  dbms_output.put_line('{MARK} first' || figures);
  -- The first is not counted: it parses.
  for n in 0 .. row_calls loop
    exit when row_calls = 0;
    call_rows;
    if n > 0 then
      dbms_output.put_line('{MARK} rows n={ROWS}' || figures);
    end if;
  end loop;
  for n in 1 .. calls loop
    begin
      call_far;
      taken := taken + 1;
      dbms_output.put_line('{MARK} sample n=' || n || figures);
    exception when others then
      failed := failed + 1;
      dbms_output.put_line('{MARK} error n=' || n || ' code=' || sqlcode);
      exit when failed >= 5;
    end;
  end loop;
  dbms_output.put_line('{MARK} end samples=' || taken);
  -- A query over a link opens a distributed transaction, and the link stays open until the session ends it.
  rollback;
  begin
    execute immediate 'alter session close database link {LINK}';
  exception when others then null;
  end;
end;
/
