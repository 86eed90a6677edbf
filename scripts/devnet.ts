import { parseArgs } from 'node:util'
import { Chain } from './devnet/chain.ts'
import { startDevnet } from './devnet/devnet.ts'

const usage = `A local chain with an ERC-20 token, for developing and testing squids.

  npm run -s devnet -- [--port P] [--transfers N] [--no-stream] [--json]
  npm run -s devnet -- [--port P] --reorg B [--json]

  --port P        port on loopback (default 8545; 0 selects a free port)
  --transfers N   make at least N transfers before it is ready (default 100)
  --no-stream     mine no blocks after that, instead of one block with one transfer a second
  --reorg B       replace the last B blocks of the devnet on port P with empty ones, and exit
  --json          print one line {"rpcUrl","token","transfers"} when ready, or after the reorg

"transfers" is the current number of Transfer events of the token, including the mint: the number that a squid should index.
It runs until it is stopped (Ctrl-C).
`

class UsageError extends Error {}

function wholeNumber(name: string, text: string, max: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) <= max) return Number(text)
  throw new UsageError(`--${name} must be a whole number up to ${max}, not "${text}"`)
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

async function report(chain: Chain, isJson: boolean, message: string): Promise<void> {
  const { rpcUrl, token } = chain
  const transfers = await chain.countTransfers()
  if (isJson) console.log(JSON.stringify({ rpcUrl, token, transfers }))
  else console.log(`${message}\n  RPC        ${rpcUrl}\n  token      ${token}\n  transfers  ${transfers}`)
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

/** Exits when the parent (npm or a shell) was killed with SIGKILL: only a changed parent process id shows that. */
function endWithParent(): void {
  const parent = process.ppid
  const checkParent = () => {
    if (process.ppid !== parent) process.exit(0)
  }
  setInterval(checkParent, 500).unref()
}

async function run(port: number, transfers: number, isStreaming: boolean, isJson: boolean): Promise<void> {
  // `process.exit` ends anvil too. The handlers are registered first, so that no signal can leave anvil behind.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(0))
  endWithParent()
  const devnet = await startDevnet({ port, transfers, isStreaming })
  await report(devnet.chain, isJson, 'A devnet is running; Ctrl-C stops it.')
  await devnet.exited
  throw new Error('anvil ended unexpectedly')
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
