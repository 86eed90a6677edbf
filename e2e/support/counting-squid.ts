import { makePgSquid } from './pg-squid.ts'

/** Source of the processor. Each row of `starts` is one run; `was_alone` is true if no other run held the lock. */
const processor = `
const { Client } = require('pg')
const http = require('node:http')

let block = 0
const metrics = () => 'sqd_processor_last_block ' + block + '\\nsqd_processor_chain_height ' + (block + 1) + '\\n'
http.createServer((request, response) => response.end(metrics())).listen(process.env.PROCESSOR_PROMETHEUS_PORT)

async function main() {
  const client = new Client({ connectionString: process.env.DB_URL })
  await client.connect()
  const { rows: [lock] } = await client.query('select pg_try_advisory_lock(7) as acquired')
  await client.query('create table if not exists starts (id int generated always as identity, was_alone boolean)')
  const { rows: [start] } = await client.query('insert into starts (was_alone) values ($1) returning id', [lock.acquired])
  for (;; block++) {
    console.log('run ' + start.id + ' line ' + block)
    if (block % 20 === 0) await client.query('select 1')
    await new Promise((resume) => setTimeout(resume, 10))
  }
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
`

const api = `
const body = JSON.stringify({ data: { __typename: 'Query' } })
const http = require('node:http')
http.createServer((request, response) => {
  request.resume().on('end', () => setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(body), 5))
}).listen(process.env.GQL_PORT)
`

/**
 * Creates a squid whose processor records whether another run holds a lock in its database, and numbers the lines of its log. A test
 * can thus detect two processors that run at the same time, and lost lines.
 * @returns the path of the project; the caller removes its parent folder
 */
export const makeCountingSquid = (): string => makePgSquid('counting', { 'api.js': api, 'processor.js': processor })
