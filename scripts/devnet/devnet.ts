import { setTimeout as delay } from 'node:timers/promises'
import { startAnvil } from './anvil.ts'
import { Chain, transfersPerBlock } from './chain.ts'

export type DevnetOptions = {
  /** 0, the default, selects a free port. */
  port?: number
  /** Number of transfers to make before the chain is ready, in addition to the mint. */
  transfers?: number
  /** True: the chain gets one block with one transfer every second. Otherwise, only calls of `chain` mine blocks. */
  isStreaming?: boolean
}

export type Devnet = {
  rpcUrl: string
  token: string
  chain: Chain
  /** Resolves when anvil ends, for any reason. */
  exited: Promise<void>
  /** Makes the node stop responding until the returned function is called. */
  freeze(): () => void
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts a chain on loopback with an ERC-20 token and transfers. The chain ends with this process. @throws if anvil does not start */
export async function startDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  const { port = 0, transfers = 0, isStreaming = false } = options
  // The times of blocks are a second apart, although they are mined much faster. With this first time, the time of the head is about now.
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
      // A reorg by another process can invalidate the nonce of a transfer; the next one succeeds.
      if (!signal.aborted) console.error(`devnet: one transfer of the stream failed: ${(error as Error).message}`)
    }
  }
}
