import { parseArgs } from 'node:util'
import { Chain } from './devnet/chain.ts'
import { startDevnet } from './devnet/devnet.ts'

const usage = `A local chain with an ERC-20 token, for trying and testing squids.

  npm run -s devnet -- [--port P] [--transfers N] [--no-stream] [--json]
  npm run -s devnet -- [--port P] --reorg B [--json]

  --port P        where it listens, on loopback (8545; 0 takes a free port)
  --transfers N   make at least N transfers before it is ready (100)
  --no-stream     stand still then, instead of one block with one transfer a second
  --reorg B       replace the last B blocks of the devnet that runs at P by empty ones, and end
  --json          print one line {"rpcUrl","token","transfers"} when ready, or when the blocks are replaced

"transfers" counts every Transfer event of the token at that moment, the mint included: what a squid of it counts.
It runs until it is stopped (Ctrl-C).
`

class UsageError extends Error {}

function wholeNumber(name: string, text: string, most: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) <= most) return Number(text)
  throw new UsageError(`--${name} takes a whole number up to ${most}, not "${text}"`)
}

function readOptions() {
  const options = {
    port: { type: 'string', default: '8545' },
    transfers: { type: 'string', default: '100' },
    reorg: { type: 'string' },
    'no-stream': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const
  try {
    const { values } = parseArgs({ options })
    return {
      port: wholeNumber('port', values.port, 65_535),
      transfers: wholeNumber('transfers', values.transfers, 1_000_000),
      reorgBlocks: values.reorg === undefined ? null : wholeNumber('reorg', values.reorg, 1_000_000),
      isStreaming: !values['no-stream'],
      isJson: values.json,
      isHelp: values.help,
    }
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError((error as Error).message)
  }
}

async function report(chain: Chain, isJson: boolean, sentence: string): Promise<void> {
  const { rpcUrl, token } = chain
  const transfers = await chain.countTransfers()
  if (isJson) console.log(JSON.stringify({ rpcUrl, token, transfers }))
  else console.log(`${sentence}\n  RPC        ${rpcUrl}\n  token      ${token}\n  transfers  ${transfers}`)
}

async function reorg(port: number, blocks: number, isJson: boolean): Promise<void> {
  const chain = await Chain.open(`http://127.0.0.1:${port}`)
  try {
    await chain.reorg(blocks)
    await report(chain, isJson, `Replaced the last ${blocks} blocks.`)
  } finally {
    chain.close()
  }
}

/** When npm or the shell between us and the user is killed by SIGKILL, nothing tells us but a new parent. */
function endWithParent(): void {
  const parent = process.ppid
  const watch = () => {
    if (process.ppid !== parent) process.exit(0)
  }
  setInterval(watch, 500).unref()
}

async function run(port: number, transfers: number, isStreaming: boolean, isJson: boolean): Promise<void> {
  // `exit` ends anvil too. Set up first, so that there is no moment in which a signal would leave it behind.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(0))
  endWithParent()
  const devnet = await startDevnet({ port, transfers, isStreaming })
  await report(devnet.chain, isJson, 'A devnet is running; Ctrl-C stops it.')
  await devnet.exited
  throw new Error('anvil ended by itself')
}

async function main(): Promise<void> {
  const { port, transfers, reorgBlocks, isStreaming, isJson, isHelp } = readOptions()
  if (isHelp) console.log(usage)
  else if (reorgBlocks === null) await run(port, transfers, isStreaming, isJson)
  else await reorg(port, reorgBlocks, isJson)
}

try {
  await main()
} catch (error) {
  console.error(`devnet: ${(error as Error).message}`)
  if (error instanceof UsageError) console.error(`\n${usage}`)
  process.exit(error instanceof UsageError ? 2 : 1)
}
