import type { Exception } from './judge.ts'

/** Statements that read more rows than their `maxRead`, each with the reason why that is acceptable. */
export const exceptions: Exception[] = [
  {
    statement:
      'select squid_id as "squidId", last_seq as "lastSeq", indexed_seq as "indexedSeq" from log_streams where last_seq -',
    perVersion: 1,
    reason:
      'Once, when a worker becomes the leader. An index on the difference would be written with every batch of lines.',
  },
  {
    statement: 'with deleted as ( delete from log_streams',
    perVersion: 2,
    reason: 'Once an hour: a deleted version is found only by comparing the two tables.',
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
    reason: 'Reads a fixed number of rows for each organization: whether it has a month to close.',
  },
]
