import { expect, test } from 'vitest'
import { loadConfig } from './config.ts'

const serversOf = (value: string) => loadConfig({ SHOAL_SQUIDS_DATABASE_URL: value }).squidServers

test('a URL is kept as it is, and belongs to the server main', () => {
  const url = 'postgres://shoal:a%2Cb,c@10.0.0.5/squids?sslmode=verify-full&sslrootcert=/etc/ca.pem'
  expect(serversOf(url)).toEqual([{ name: 'main', url, weight: 1, maxDatabases: null }])
  expect(loadConfig({}).squidServers).toEqual([])
})

test('several URLs have names, weights and maximum numbers of databases', () => {
  const value = `postgres://a:x@10.0.0.5/postgres?shoal_max_databases=200,
    postgresql://a:y,z@10.0.0.6:5433/postgres?sslmode=require&shoal_name=second&shoal_weight=2.5`
  expect(serversOf(value)).toEqual([
    { name: 'main', url: 'postgres://a:x@10.0.0.5/postgres', weight: 1, maxDatabases: 200 },
    {
      name: 'second',
      url: 'postgresql://a:y,z@10.0.0.6:5433/postgres?sslmode=require',
      weight: 2.5,
      maxDatabases: null,
    },
  ])
})

test('a server can be for dedicated versions only', () => {
  const [, dedicated] = serversOf(
    'postgres://a:x@10.0.0.5/postgres postgres://a:y@10.0.0.6/postgres?shoal_name=large&shoal_for=dedicated',
  )
  const url = 'postgres://a:y@10.0.0.6/postgres'
  expect(dedicated).toEqual({ name: 'large', url, weight: 1, maxDatabases: null, isForDedicated: true })
})

const first = 'postgres://a:secret@10.0.0.5/postgres'
const second = 'postgres://a:secret@10.0.0.6/postgres'

test.each([
  ['squids', 'URL 1 of SHOAL_SQUIDS_DATABASE_URL must be like postgres://'],
  [`${first}, mysql://10.0.0.7`, 'must be like postgres://'],
  [`${first} ${second}`, 'has two servers without a name'],
  [`${first}?shoal_name=b ${second}?shoal_name=b`, 'has two servers with shoal_name=b'],
  [`${first} ${first}?shoal_name=b`, 'lists the same server as main and as b'],
  [`${first}?shoal_name=B_1`, 'but must be up to 30 lower-case letters, digits and hyphens'],
  [
    `${first}?shoal_weight=0`,
    'shoal_weight in URL 1 of SHOAL_SQUIDS_DATABASE_URL is "0", but must be a number above 0',
  ],
  [`${first}?shoal_weight=much`, 'is "much", but must be a number above 0, up to 1000'],
  [`${first}?shoal_max_databases=2.5`, 'but must be a whole number'],
  [
    `${first}?shoal_size=2`,
    'has the unknown parameter shoal_size: use shoal_name, shoal_weight, shoal_max_databases or shoal_for',
  ],
  [`${first}?shoal_for=all`, 'shoal_for in URL 1 of SHOAL_SQUIDS_DATABASE_URL is "all", but must be dedicated'],
  [`${first}?shoal_for=dedicated`, 'needs a server without shoal_for=dedicated, for collocated versions'],
])('the value %s is rejected with a message without its password', (value, message) => {
  expect(() => serversOf(value)).toThrow(message)
  expect(() => serversOf(value)).not.toThrow('secret')
})
