import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

export type Anvil = {
  rpcUrl: string
  /** Resolves when anvil ends, for any reason. */
  exited: Promise<void>
  /** Simulates a node that hangs, until the returned function is called. */
  freeze(): () => void
  stop(): Promise<void>
}

/**
 * Starts anvil on loopback and resolves when it listens. Port 0 selects a free port. Anvil mines only on demand, and ends with
 * this process.
 * @throws with anvil's error output if it cannot start, for example because the port is in use
 */
export async function startAnvil(port: number, genesisTime: Date): Promise<Anvil> {
  const genesisSeconds = Math.floor(genesisTime.getTime() / 1000)
  const args = ['--host', '127.0.0.1', '--port', `${port}`, '--no-mining', '--timestamp', `${genesisSeconds}`]
  const anvil = spawnTiedToParent(anvilBinary(), args)
  const kill = () => anvil.kill('SIGKILL')
  process.once('exit', kill)
  const exited = new Promise<void>((resolve) => {
    anvil.once('close', () => {
      process.off('exit', kill)
      resolve()
    })
  })
  const stop = async () => {
    kill()
    await exited
  }
  const freeze = () => {
    anvil.kill('SIGSTOP')
    return () => void anvil.kill('SIGCONT')
  }
  return { rpcUrl: `http://${await listeningAddress(anvil)}`, exited, freeze, stop }
}

/** Returns the path of the program itself, since killing npm's wrapper would leave the program running. */
function anvilBinary(): string {
  const architectures: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' }
  const program = `@foundry-rs/anvil-${process.platform}-${architectures[process.arch] ?? process.arch}/bin/anvil`
  // The package with the program is a dependency of @foundry-rs/anvil, so Node must resolve it from there.
  const wrapper = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json')
  try {
    return createRequire(wrapper).resolve(program)
  } catch (cause) {
    throw new Error(`npm installed no anvil for ${process.platform} ${process.arch} (${program})`, { cause })
  }
}

/** Starts a program. On Linux, the kernel kills it when this process ends, even if SIGKILL ends this process. */
function spawnTiedToParent(program: string, args: string[]): ChildProcess {
  const setpriv = '/usr/bin/setpriv'
  const options: SpawnOptions = { stdio: ['ignore', 'pipe', 'pipe'] }
  if (!existsSync(setpriv)) return spawn(program, args, options)
  return spawn(setpriv, ['--pdeathsig', 'SIGKILL', program, ...args], options)
}

/** Returns the address that anvil prints. Continues to read the output after that, so that anvil never blocks on a full pipe. */
async function listeningAddress(anvil: ChildProcess): Promise<string> {
  const { stdout, stderr } = anvil
  if (!stdout || !stderr) throw new Error('anvil was started without pipes for its output')
  let errorOutput = ''
  stderr.on('data', (chunk: Buffer) => {
    errorOutput = (errorOutput + chunk.toString()).slice(-2000)
  })
  return await new Promise((resolve, reject) => {
    createInterface({ input: stdout }).on('line', (line) => {
      const address = /^Listening on (\S+)/.exec(line)?.[1]
      if (address) resolve(address)
    })
    anvil.once('error', reject)
    // Not at `exit`, which may be emitted before all error output has been read.
    anvil.once('close', () => reject(new Error(`anvil did not start: ${errorOutput.trim() || 'it printed no error'}`)))
  })
}
