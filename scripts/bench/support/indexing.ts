import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { runProgram } from '../../../runtime/src/process/network/run-script.ts'
import { startEmbeddedPostgres } from '../../../runtime/src/postgres/embedded-postgres.ts'
import { makeFolderForAllUsers } from '../../temporary-folders.ts'
import { compare } from './compare.ts'

const rounds = 7

/**
 * The source of a program that indexes for three seconds as a processor does: it requests batches of ten blocks of 20 kB, and writes the
 * transactions of each batch to Postgres in one transaction. Prints the number of blocks per second.
 */
const indexer = `
const [pgPath, dbUrl, rpcUrl] = process.argv.slice(1)
const { Client } = require(pgPath)
const seconds = 3
const index = async () => {
  const db = new Client(dbUrl)
  await db.connect()
  await db.query('create temporary table transactions (block int, hash text, value text)')
  const requestBatch = async (from) => {
    const calls = Array.from({ length: 10 }, (_, n) => ({ jsonrpc: '2.0', id: from + n, method: 'eth_getBlockByNumber' }))
    const response = await fetch(rpcUrl, { method: 'POST', body: JSON.stringify(calls) })
    return await response.json()
  }
  const end = Date.now() + seconds * 1000
  let blocks = 0
  while (Date.now() < end) {
    const batch = await requestBatch(blocks)
    const rows = batch.flatMap(({ result }, n) => result.map(({ hash, value }) => [blocks + n, hash, value]))
    await db.query('begin')
    await db.query('insert into transactions select * from unnest($1::int[], $2::text[], $3::text[])', [0, 1, 2].map((column) => rows.map((row) => row[column])))
    await db.query('commit')
    blocks += batch.length
  }
  console.log(blocks / seconds)
  process.exit()
}
void index()
`

const transactions = Array.from({ length: 80 }, (_, n) => ({
  hash: `0x${'ab'.repeat(32)}`,
  value: `${n}`,
  input: 'x'.repeat(120),
}))

export type IndexingServices = {
  /** The ports that the program needs. */
  ports: number[]
  /** Returns the median ratio of the speed behind a command prefix to the speed without it. */
  ratio: (prefix: string[]) => Promise<number>
  end: () => Promise<void>
}

/** Starts a Postgres and a node that returns the same transactions in each block. */
export async function startIndexingServices(): Promise<IndexingServices> {
  const postgres = await startEmbeddedPostgres({ dir: makeFolderForAllUsers('pg-') })
  const node = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    response.end(JSON.stringify((JSON.parse(text) as { id: number }[]).map(({ id }) => ({ id, result: transactions }))))
  })
  await new Promise<void>((done) => node.listen(0, '127.0.0.1', done))
  const { port } = node.address() as { port: number }
  const pgPath = createRequire(import.meta.url).resolve('pg')
  const speed = async (prefix: string[]) =>
    Number(
      await runProgram([
        ...prefix,
        process.execPath,
        '-e',
        indexer,
        pgPath,
        postgres.url('postgres'),
        `http://127.0.0.1:${port}`,
      ]),
    )
  return {
    ports: [postgres.port, port],
    ratio: async (prefix) =>
      (
        await compare(
          rounds,
          () => speed(prefix),
          () => speed([]),
        )
      ).ratio,
    end: async () => {
      node.close()
      await postgres.stop()
    },
  }
}
