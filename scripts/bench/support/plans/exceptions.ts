import type { Exception } from './judge.ts'

const readsLargestOrganization =
  'For a page or a scrape of metrics of the largest organization, which has a tenth of all versions: to read the whole table costs Postgres less than one lookup for each version.'

/** Statements that may read more rows than their `maxRead`, each with the reason why that is acceptable. */
export const exceptions: Exception[] = [
  {
    statement:
      'select squid_id as "squidId", last_seq as "lastSeq", indexed_seq as "indexedSeq" from log_streams where last_seq -',
    perVersion: 1,
    reason:
      'Once, when a worker becomes the leader. An index on the difference would be written with every batch of lines.',
  },
  {
    statement: 'select stream.id as "squidId" from unnest',
    perVersion: 2,
    reason: 'Once an hour: a deleted version is found only by comparing all versions with those that have lines.',
  },
  {
    statement: 'delete from sampled_counters where at <',
    perVersion: 4,
    reason: 'Once a day. An index on the time would be written for every container every 15 seconds.',
  },
  {
    statement: 'select distinct "org_id" from "images" where not exists',
    perVersion: 5,
    reason: 'Once an hour: an unused image is found only by comparing all images with those in use.',
  },
  {
    statement: 'select o.id as "orgId", u.month from orgs o cross join lateral',
    perVersion: 0.5,
    reason: 'Reads a fixed number of rows for each organization, to find those with a month to close.',
  },
  {
    statement: 'select t.squid_id as "squidId", container, state',
    perVersion: 2,
    reason: readsLargestOrganization,
  },
  {
    statement: 'select t.squid_id as "squidId", processor, current_block',
    perVersion: 1,
    reason: readsLargestOrganization,
  },
  {
    statement: 'select t.squid_id as "squidId", container, is_available',
    perVersion: 1,
    reason: readsLargestOrganization,
  },
  {
    statement: 'select squid_id as "squidId", version, profile',
    perVersion: 1,
    reason: readsLargestOrganization,
  },
  {
    statement: 'select squid_id as "squidId", tag from squid_tags',
    perVersion: 1,
    reason: readsLargestOrganization,
  },
  {
    statement: `select s.org_id as "orgId", s.id as "squidId", s.name || '@' || s.slot as "squidName",`,
    perVersion: 1,
    reason: readsLargestOrganization,
  },
  {
    statement: 'select squid_id as "squidId", container, to_json(array_agg(bin))',
    perVersion: 50,
    reason: readsLargestOrganization,
  },
  {
    statement: 'select (extract(epoch from at) * 1000)::float8 as "atMs", to_json(array_agg(squid_id))',
    perVersion: 1,
    reason: readsLargestOrganization,
  },
  {
    statement: 'select "name", "slot", "desired_state", "secret_names"',
    perVersion: 0.2,
    reason: 'Reads the versions of one organization to find those that use a secret.',
  },
  {
    statement: 'select "image" from "images" where',
    perVersion: 2,
    reason: 'Once an hour: an unused image is found only by comparing all images of an organization with those in use.',
  },
  {
    statement: 'delete from "sessions" where "sessions"."expires_at"',
    perVersion: 1,
    reason: 'Every 20 minutes. Each sign-in would also have to write an index on the time of expiry.',
  },
  {
    statement: 'select o.id as "orgId", (a.failing_since is null',
    perVersion: 0.5,
    reason: 'Reads a fixed number of rows for each organization, to find those with an invoice to charge.',
  },
  {
    statement: 'select s.id, s.org_id as "orgId" from squids s join orgs o',
    perVersion: 0.1,
    reason:
      'Reads all organizations to find the deleted ones. An index would save little, since organizations are few.',
  },
  {
    statement: 'select datname as name from pg_database',
    perVersion: 2,
    reason:
      'When a worker becomes the leader, and when databases are dropped: Postgres has no index on privileges or on prefixes of names.',
  },
  {
    statement: 'select squid_id as "squidId", usage_bytes as bytes from log_streams',
    perVersion: 1,
    reason: 'Once, when a worker becomes the leader. An index on the day would be written with every batch of lines.',
  },
  {
    statement: 'select squid_id as "squidId" from log_streams where quota_reported_on',
    perVersion: 1,
    reason: 'Once, when a worker becomes the leader. An index on the day would be written with every batch of lines.',
  },
]
