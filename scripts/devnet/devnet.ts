import { setTimeout as delay } from 'node:timers/promises'
import { startAnvil } from './anvil.ts'
import { Chain, transfersPerBlock } from './chain.ts'

export type DevnetOptions = {
  /** 0, the default, takes a free one. */
  port?: number
  /** How many to make before it is ready, beside the mint, which is one too. */
  transfers?: number
  /** Go on with a block and a transfer a second. Without it the chain stands still until its `chain` is told otherwise. */
  isStreaming?: boolean
}

export type Devnet = {
  rpcUrl: string
  token: string
  chain: Chain
  /** Resolves when anvil has ended, for whatever reason. */
  exited: Promise<void>
  /** Its node answers nothing until the function that this answers is called. */
  freeze(): () => void
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A chain on loopback with an ERC-20 token and transfers of it. It ends with this process. Throws when anvil does not start. */
export async function startDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  const { port = 0, transfers = 0, isStreaming = false } = options
  // Blocks are a second apart in the chain's time but mined much faster: this leaves the head at about now.
  const filledSeconds = Math.ceil(transfers / transfersPerBlock) + 1
  const anvil = await startAnvil(port, new Date(Date.now() - filledSeconds * 1000))
  const stream = new AbortController()
  let chain: Chain | undefined
  const stop = async () => {
    stream.abort()
    chain?.close()
    await anvil.stop()
  }
  try {
    chain = await Chain.open(anvil.rpcUrl)
    await chain.deployToken()
    await chain.transfer(transfers)
  } catch (error) {
    await stop()
    throw error
  }
  if (isStreaming) void transferEverySecond(chain, stream.signal)
  return {
    rpcUrl: chain.rpcUrl,
    token: chain.token,
    chain,
    exited: anvil.exited,
    freeze: () => anvil.freeze(),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

async function transferEverySecond(chain: Chain, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await delay(1000, undefined, { signal })
      await chain.transfer(1)
    } catch (error) {
      // A reorg ordered by another process can take the nonce away under a transfer; the next one is fine again.
      if (!signal.aborted) console.error(`devnet: one transfer of the stream failed: ${(error as Error).message}`)
    }
  }
}
