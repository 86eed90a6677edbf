import { egressTargets } from '@shoal/runtime'
import { expect, test } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { networkTargets } from './network-targets.ts'

const config = loadConfig({
  SHOAL_SQUIDS_DATABASE_URL: `postgres://a:b@10.0.0.5/postgres,
    postgres://a:b@10.0.0.6:6432/postgres?shoal_name=second,
    postgres://a:b@127.0.0.1:5433/postgres?shoal_name=local,
    postgres://postgres:b@large-rw.shoal-postgres.svc/postgres?shoal_name=large&shoal_for=dedicated`,
  SHOAL_GATEWAY_URL: 'http://10.0.0.9:4001/{org}',
})
const targets = networkTargets(
  config,
  config.squidServers.map(({ url }) => url),
)

test('squids may reach each Postgres server of SHOAL_SQUIDS_DATABASE_URL, with a limited number of connections, and builds none', () => {
  expect(targets.squid).toEqual(
    expect.arrayContaining([
      { host: '10.0.0.5', port: 5432, isLimited: true },
      { host: '10.0.0.6', port: 6432, isLimited: true },
      { host: '127.0.0.1', port: 5433, isLimited: true },
      { host: 'large-rw.shoal-postgres.svc', port: 5432, isLimited: true },
    ]),
  )
  expect(targets.build).toEqual([])
})

test('in a cluster, the network policy of squids allows these servers, and for a service the namespace of its pods', async () => {
  expect(await egressTargets(targets.squid)).toEqual([
    { cidr: '10.0.0.5', port: 5432 },
    { cidr: '10.0.0.6', port: 6432 },
    { cidr: '10.0.0.9', port: 4001 },
    { namespace: 'shoal-postgres', port: 5432 },
  ])
})
