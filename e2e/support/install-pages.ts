import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDebianContainer, type DebianContainer } from '../../scripts/debian/container.ts'
import type { FilesKind } from '../../scripts/debian/files.ts'
import { startDevnet } from '../../scripts/devnet/devnet.ts'
import { releaseName } from '../../scripts/release/stage-release.ts'
import { repositoryRoot } from './shoal.ts'
import { until } from './until.ts'

export type Block = { kind: string; commands: string }

/** Returns the blocks of commands of a page. Their kind is the text after `sh`: `server`, `server nginx`, `client`, `here`, `docker`, or nothing. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(repositoryRoot, 'docs/install', page), 'utf8')
  return [...text.matchAll(/^```sh ?(.*)\n([^]*?)^```$/gm)].map(([, kind = '', commands = '']) => ({ kind, commands }))
}

/** A Debian container with the archive of a release, for the commands of the pages about installing. */
export type InstallContainer = {
  debian: DebianContainer
  /** The URL of the chain for programs in the container. */
  chain: URL
  /** The URL of a mail server that accepts every sender. */
  mailUrl: string
  /** Runs a block as a script that ends when a command fails, and returns its output. */
  runBlock: (commands: string) => Promise<string>
  /** Waits until the server is ready. After five minutes, runs the command `explain`, which prints why it is not, and throws. */
  untilReady: (explain?: string) => Promise<string>
  /** Deploys the example with the page's commands for clients, waits until its API returns all transfers over HTTPS, and returns the URL of the squid. `authority`: the file with the certificate of the authority that signs the squid's certificate. */
  deploySquid: (token: string, authority: string) => Promise<string>
  /** Stops the container, the chain and the mail server. */
  end: () => Promise<void>
}

/** Starts a Debian container with a release of this version. The names on the pages, `shoal.example.com` and `squids.example.com`, resolve to the container itself. */
export async function startInstallContainer(version: string, kind: FilesKind): Promise<InstallContainer> {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-pages-'))
  execFileSync(process.execPath, ['scripts/release.ts', '--to', folder, '--version', version], { cwd: repositoryRoot })
  const [devnet, mail, debian] = await Promise.all([
    startDevnet({ transfers: 5, isStreaming: false }),
    startMailServer(),
    startDebianContainer(kind),
  ])
  const chain = new URL(devnet.rpcUrl)
  chain.hostname = debian.hostAddress
  const mailPort = (mail.address() as AddressInfo).port
  await debian.exposeHostPort(Number(chain.port))
  await debian.exposeHostPort(mailPort)
  cpSync(join(repositoryRoot, 'examples/erc20-transfers'), join(debian.folder, 'root/squid'), { recursive: true })
  for (const end of ['.tar.gz', '.tar.gz.sha256'])
    cpSync(join(folder, `${releaseName(version)}${end}`), join(debian.folder, `root/${releaseName(version)}${end}`))
  await debian.run('echo "127.0.0.1 shoal.example.com squids.example.com" >> /etc/hosts')

  const runBlock = (commands: string) =>
    debian.run(`cat > /tmp/block <<'END_OF_BLOCK'\nset -e\n${commands}\nEND_OF_BLOCK\nsh /tmp/block`, 600_000)
  const untilReady = (explain = 'journalctl -u shoal --no-pager | tail -50') =>
    debian.run(
      `timeout 300 sh -c 'until curl -sf http://localhost:4000/readyz; do sleep 1; done' || { ${explain} >&2; exit 1; }`,
    )
  const deploySquid = async (token: string, authority: string) => {
    const [block] = blocksOf('one-server.md').filter((found) => found.kind === 'client')
    const commands = (block?.commands ?? '')
      .replace('<token>', token)
      .replace('sqd deploy <folder of the squid>', `sqd secrets set RPC_URL ${chain.href}\n$&`)
      .replace('<folder of the squid>', '~/squid --no-interactive --no-stream-logs')
    const printed = await runBlock(`export NODE_EXTRA_CA_CERTS=${authority}\n${commands}`)
    const url = /https:\/\/squids\.example\.com\/[^ @]+@[a-z0-9]+/.exec(printed)?.[0]
    if (url === undefined) throw new Error(`The client printed no URL of the squid:\n${printed}`)
    const transfers = await devnet.chain.countTransfers()
    const query = `{"query":"{ transfersConnection(orderBy: id_ASC) { totalCount } }"}`
    const queryCount = `curl -sS --cacert ${authority} -H 'content-type: application/json' -d '${query}' ${url}/api/graphql || true`
    const expected = `"totalCount":${transfers}}`
    await until(async () => (await debian.run(queryCount)).includes(expected), 'GraphQL returns all transfers')
    return url
  }
  const end = async () => {
    await debian.stop()
    mail.close()
    await devnet.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  const mailUrl = `smtp://${debian.hostAddress}:${mailPort}`
  return { debian, chain, mailUrl, runBlock, untilReady, deploySquid, end }
}

function startMailServer(): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.write('220 mail\r\n')
    socket.on('data', (chunk) => void socket.write(chunk.toString().startsWith('QUIT') ? '221 bye\r\n' : '250 ok\r\n'))
  })
  return new Promise((done) => void server.listen(0, '127.0.0.1', () => done(server)))
}
