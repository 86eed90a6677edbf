import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

export type Anvil = {
  rpcUrl: string
  /** Resolves when it has ended, for whatever reason. */
  exited: Promise<void>
  /** It answers nothing until the function that this answers is called, as a node that hangs. */
  freeze(): () => void
  stop(): Promise<void>
}

/**
 * Starts anvil on loopback and answers when it listens; port 0 takes a free one. It mines on demand only, and ends with
 * this process. Throws with anvil's own words when it cannot start, as on a taken port.
 */
export async function startAnvil(port: number, genesisTime: Date): Promise<Anvil> {
  const genesisSeconds = Math.floor(genesisTime.getTime() / 1000)
  const args = ['--host', '127.0.0.1', '--port', `${port}`, '--no-mining', '--timestamp', `${genesisSeconds}`]
  const anvil = spawnTiedToUs(anvilBinary(), args)
  const kill = () => anvil.kill('SIGKILL')
  process.once('exit', kill)
  // On `close` all of its output has been read; `exit` may come earlier.
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

/** The program itself: npm's wrapper around it leaves it running when the wrapper is killed. */
function anvilBinary(): string {
  const architectures: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' }
  const program = `@foundry-rs/anvil-${process.platform}-${architectures[process.arch] ?? process.arch}/bin/anvil`
  // A dependency of @foundry-rs/anvil, not of ours: so it is looked for from there.
  const wrapper = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json')
  try {
    return createRequire(wrapper).resolve(program)
  } catch (cause) {
    throw new Error(`npm installed no anvil for ${process.platform} ${process.arch} (${program})`, { cause })
  }
}

/** On Linux the kernel kills anvil when we die, so that it goes even when we are killed by SIGKILL. */
function spawnTiedToUs(program: string, args: string[]): ChildProcess {
  const setpriv = '/usr/bin/setpriv'
  const command = existsSync(setpriv) ? [setpriv, '--pdeathsig', 'SIGKILL', program] : [program]
  const [file = program, ...prefix] = command
  return spawn(file, [...prefix, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Reads the output until anvil says where it listens, and goes on draining it, so that anvil never blocks on a full pipe. */
async function listeningAddress(anvil: ChildProcess): Promise<string> {
  const { stdout, stderr } = anvil
  if (!stdout || !stderr) throw new Error('anvil was started without pipes for its output')
  let complaint = ''
  stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-2000)
  })
  return await new Promise((resolve, reject) => {
    createInterface({ input: stdout }).on('line', (line) => {
      const address = /^Listening on (\S+)/.exec(line)?.[1]
      if (address) resolve(address)
    })
    anvil.once('error', reject)
    anvil.once('close', () => reject(new Error(`anvil did not start: ${complaint.trim() || 'it did not say why'}`)))
  })
}
