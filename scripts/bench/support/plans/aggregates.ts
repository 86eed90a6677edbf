import type { Aggregate } from './judge.ts'

const readsCosts = 'Adds up the usage records of a month, of which there is one for each resource and hour.'
const readsChart = 'A chart, or an export of metrics: each point combines the samples of its time.'
const rollsUp = 'Combines the samples or buckets of a longer bucket.'

/** Statements whose results are computed from all rows that they read. `reason`: what the statement computes. */
export const aggregates: Aggregate[] = [
  { statement: `select "org_id", to_char("hour" at time zone 'UTC', 'YYYY-MM-DD'), "type", sum(`, reason: readsCosts },
  { statement: `select to_char("hour" at time zone 'UTC', 'YYYY-MM-DD'), "type", "squid_id",`, reason: readsCosts },
  { statement: 'select squid_id as "squidId", container, to_json(array_agg(bin))', reason: readsChart },
  { statement: 'select squid_id as "squidId", container, sum(crashes)', reason: readsChart },
  {
    statement: 'select (extract(epoch from at) * 1000)::float8 as "atMs", to_json(array_agg(squid_id))',
    reason: readsChart,
  },
  {
    statement: 'select u.org_id as "orgId", u.version, s.name',
    reason: 'Adds up the RPC requests of each version and hour. A row counts the requests of one method.',
  },
  { statement: 'insert into container_hours (', reason: rollsUp },
  { statement: 'insert into container_days (', reason: rollsUp },
  { statement: 'insert into container_months (', reason: rollsUp },
  { statement: 'insert into ingress_hours (', reason: rollsUp },
  { statement: 'insert into ingress_days (', reason: rollsUp },
  { statement: 'insert into ingress_months (', reason: rollsUp },
  {
    statement: 'select o.id, o.code, o.name, o.is_playground as "isPlayground"',
    reason: 'Counts the versions of each organization that an operator lists.',
  },
  {
    statement: 'select count(*)::int as count from sampled_counters where squid_id =',
    reason: 'Counts the containers of an organization, which determines the resolution of its charts.',
  },
  {
    statement: 'select org_id as "orgId", sum(requests)::float8 as "rpcRequests" from rpc_usage',
    reason: 'Adds up the RPC requests of the last day for the operators, whose pages share a result for some minutes.',
  },
  {
    statement: 'select "chain", sum("requests")::bigint from "rpc_usage"',
    reason: 'Adds up the RPC requests of an organization in a month.',
  },
  {
    statement: 'delete from container_runs r using',
    reason: 'Ranks the runs of the containers whose runs changed, of which it keeps the newest 50.',
  },
  {
    statement: 'select server, count(*)::int as count from (select server from squid_databases',
    reason: 'Counts the databases of each server when a version gets its database.',
  },
  {
    statement: 'select s.id as "squidId", s.org_id as "orgId", coalesce(c.cpu, 0)::float8 as "cpuCores"',
    reason: 'Combines the last samples of all versions for the operators, whose pages share a result for some minutes.',
  },
]
