import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import { Chain } from './devnet/chain.ts'
import { startDevnet } from './devnet/devnet.ts'
import { root } from './root.ts'

const program = join(root, 'scripts/devnet.ts')
const run = promisify(execFile)

describe('startDevnet', () => {
  test('resolves when the chain has the requested transfers and the mint', async () => {
    await using devnet = await startDevnet({ transfers: 45 })
    expect(await devnet.chain.countTransfers()).toBe(46)
  })

  test('without isStreaming, mines blocks only on request', async () => {
    await using devnet = await startDevnet()
    const height = await devnet.chain.height()
    await devnet.chain.transfer(1)
    expect(await devnet.chain.height()).toBe(height + 1)
    expect(await devnet.chain.countTransfers()).toBe(2)
  })

  test('with isStreaming, makes a transfer every second', async () => {
    await using devnet = await startDevnet({ isStreaming: true })
    await expect.poll(() => devnet.chain.countTransfers()).toBeGreaterThanOrEqual(3)
  })

  test('a reorg removes the transfers of the replaced blocks, and the chain continues', async () => {
    await using devnet = await startDevnet({ transfers: 45 })
    await devnet.chain.reorg(2)
    expect(await devnet.chain.countTransfers()).toBe(21)
    await devnet.chain.transfer(3)
    expect(await devnet.chain.countTransfers()).toBe(24)
  })

  test('a reorg never removes the token', async () => {
    await using devnet = await startDevnet()
    await expect(devnet.chain.reorg(1)).rejects.toThrow('at most 0 can be replaced')
  })

  test('reports a port that is in use', async () => {
    await using devnet = await startDevnet()
    const port = Number(new URL(devnet.rpcUrl).port)
    await expect(startDevnet({ port })).rejects.toThrow('Address already in use')
  })
})

describe('npm run devnet', () => {
  const children: ChildProcess[] = []

  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })

  async function start(...args: string[]) {
    const child = spawn(process.execPath, [program, '--port', '0', '--json', ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    const lines = createInterface({ input: child.stdout })
    const line = await new Promise<string>((resolve) => lines.once('line', resolve))
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    return { child, ended, ready: JSON.parse(line) as { rpcUrl: string; token: string; transfers: number } }
  }

  async function isListening(rpcUrl: string): Promise<boolean> {
    try {
      const chain = await Chain.open(rpcUrl)
      chain.close()
      return true
    } catch {
      return false
    }
  }

  test('prints its URL, token and transfers, accepts a reorg from another process, and ends on SIGTERM', async () => {
    const { child, ended, ready } = await start('--transfers', '30', '--no-stream')
    expect(ready.transfers).toBe(31)
    const { port } = new URL(ready.rpcUrl)
    const { stdout } = await run(process.execPath, [program, '--port', port, '--reorg', '1', '--json'])
    expect(JSON.parse(stdout)).toEqual({ ...ready, transfers: 21 })
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    await expect.poll(() => isListening(ready.rpcUrl)).toBe(false)
  })

  test.skipIf(!existsSync('/usr/bin/setpriv'))('anvil exits when the devnet is killed with SIGKILL', async () => {
    const { child, ready } = await start('--transfers', '0')
    child.kill('SIGKILL')
    await expect.poll(() => isListening(ready.rpcUrl)).toBe(false)
  })

  test('rejects invalid arguments and prints the usage', async () => {
    for (const args of [['--port', 'x'], ['--transfers', '-1'], ['--reorg', '1.5'], ['--bogus']]) {
      await expect(run(process.execPath, [program, ...args])).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringContaining('npm run -s devnet'),
      })
    }
  })
})
