import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { ContractFactory, Interface, JsonRpcProvider, getCreateAddress, id, toBeHex, toQuantity } from 'ethers'

const chainId = 31337
const transferTopic = id('Transfer(address,address,uint256)')
const erc20 = new Interface(['function transfer(address to, uint256 amount)'])

/** Maximum number of transfers per block. */
export const transfersPerBlock = 20

type Transaction = { data: string; to?: string; gas: number; nonce?: number }

/**
 * A client of a devnet: an anvil that mines on demand, where the first dev account deploys the token in block 1 and makes
 * every transfer. `Chain.open` also works in processes other than the devnet's.
 */
export class Chain {
  readonly rpcUrl: string
  readonly token: string
  readonly #rpc: JsonRpcProvider
  readonly #sender: string

  private constructor(rpcUrl: string, rpc: JsonRpcProvider, sender: string) {
    this.rpcUrl = rpcUrl
    this.#rpc = rpc
    this.#sender = sender
    this.token = getCreateAddress({ from: sender, nonce: 0 }).toLowerCase()
  }

  /** @throws if there is no devnet at `rpcUrl` */
  static async open(rpcUrl: string): Promise<Chain> {
    const rpc = new JsonRpcProvider(rpcUrl, chainId, {
      staticNetwork: true,
      batchMaxCount: transfersPerBlock,
      batchStallTime: 0,
    })
    try {
      const [sender] = (await rpc.send('eth_accounts', [])) as string[]
      if (sender) return new Chain(rpcUrl, rpc, sender)
      throw new Error('it has no dev accounts')
    } catch (error) {
      rpc.destroy()
      throw new Error(`There is no devnet at ${rpcUrl}: ${(error as Error).message}`, { cause: error })
    }
  }

  close(): void {
    this.#rpc.destroy()
  }

  async height(): Promise<number> {
    return Number(await this.#rpc.send('eth_blockNumber', []))
  }

  /** Deploys the token. Minting the supply is its first Transfer. */
  async deployToken(): Promise<void> {
    const require = createRequire(import.meta.url)
    const artifact = readFileSync(
      require.resolve('@openzeppelin/contracts/build/contracts/ERC20PresetFixedSupply.json'),
    )
    const { abi, bytecode } = JSON.parse(artifact.toString()) as { abi: []; bytecode: string }
    const constructorArguments = ['Shoal', 'SHOAL', 10n ** 30n, this.#sender]
    const { data } = await new ContractFactory(abi, bytecode).getDeployTransaction(...constructorArguments)
    await this.#send({ data, gas: 3_000_000 })
    await this.#mine()
    const code: unknown = await this.#rpc.send('eth_getCode', [this.token, 'latest'])
    if (code === '0x') throw new Error(`The token was not deployed at ${this.token}`)
  }

  /** Makes `count` transfers, each to a new address, in new blocks. */
  async transfer(count: number): Promise<void> {
    const firstNonce = Number(await this.#rpc.send('eth_getTransactionCount', [this.#sender, 'pending']))
    for (let sent = 0; sent < count; sent += transfersPerBlock) {
      const size = Math.min(transfersPerBlock, count - sent)
      await Promise.all(Array.from({ length: size }, (_, index) => this.#sendTransfer(firstNonce + sent + index)))
      await this.#mine()
    }
  }

  /** Counts all Transfer events up to the head, including the mint: the number that a squid of this token must index. */
  async countTransfers(): Promise<number> {
    const blockBatchSize = 500
    const height = await this.height()
    let count = 0
    for (let from = 0; from <= height; from += blockBatchSize) {
      const to = Math.min(from + blockBatchSize - 1, height)
      const blocks = { fromBlock: toQuantity(from), toBlock: toQuantity(to) }
      const filter = { ...blocks, address: this.token, topics: [transferTopic] }
      const logs = (await this.#rpc.send('eth_getLogs', [filter])) as unknown[]
      count += logs.length
    }
    return count
  }

  /** Replaces the last `blocks` blocks with empty ones. @throws if that would replace the block of the token */
  async reorg(blocks: number): Promise<void> {
    const height = await this.height()
    if (blocks >= height) {
      throw new Error(
        `The chain has ${height} blocks; at most ${height - 1} can be replaced, because the token is in the first`,
      )
    }
    await this.#rpc.send('anvil_reorg', [blocks, []])
  }

  async #sendTransfer(nonce: number): Promise<void> {
    const receiver = toBeHex(0x1_0000 + nonce, 20)
    const data = erc20.encodeFunctionData('transfer', [receiver, nonce])
    await this.#send({ to: this.token, data, gas: 100_000, nonce })
  }

  async #send({ gas, nonce, ...transaction }: Transaction): Promise<void> {
    const order = nonce === undefined ? {} : { nonce: toQuantity(nonce) }
    const parameters = { ...transaction, ...order, from: this.#sender, gas: toQuantity(gas) }
    await this.#rpc.send('eth_sendTransaction', [parameters])
  }

  async #mine(): Promise<void> {
    await this.#rpc.send('evm_mine', [])
  }
}
