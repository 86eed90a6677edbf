import type { Exception } from './judge.ts'

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
    statement: 'select "image" from "images" where',
    perVersion: 2,
    reason: 'Once an hour: an unused image is found only by comparing all images of an organization with those in use.',
  },
  {
    statement: 'select datname as name from pg_database where datallowconn',
    perVersion: 2,
    reason: 'Once, when a worker becomes the leader. Postgres has no index on the privileges of databases.',
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
  {
    statement: 'select d.org_id as "orgId", d.name from squid_domains d join orgs',
    perVersion: 0.5,
    reason: 'Searches the squid of each domain: a domain whose squid was deleted is found in no other way.',
  },
  {
    statement: 'select s.id, s.org_id as "orgId", s.name, s.slot, s.image, s.desired_state',
    perVersion: 0.2,
    reason:
      'Finds the versions of one organization whose name contains a text. Postgres has an index for parts of texts only with an extension.',
  },
  {
    statement: 'insert into status_days as d (tag_id, day, requests',
    perVersion: 0.5,
    reason: 'Looks for new requests to each tag of all status pages; many tags have none.',
  },
  {
    statement: 'select e.id, e.org_id as "orgId", e.kind',
    perVersion: 0.1,
    reason: 'Looks for the tags and the incident of each open alert.',
  },
  {
    statement: 'select i.id from status_incidents i where i.resolved_at is null',
    perVersion: 0.2,
    reason: 'Looks for the alert of each open incident that follows one.',
  },
  {
    statement: 'insert into container_minutes (',
    perVersion: 4,
    reason:
      'The index on the time has one entry for each MiB, so the newest MiB are read even if they contain nothing to roll up.',
  },
  {
    statement: 'select tenant.id::int8 as id from unnest',
    perVersion: 0.1,
    reason:
      'Looks up the organization of each tenant that the runtime knows. Usually every one exists, so none is returned.',
  },
  {
    statement: 'select "alert_deliveries"."id", "alert_deliveries"."org_id"',
    perVersion: 0.1,
    reason: 'Postgres reads the channels of all organizations completely while there are few of them.',
  },
]
