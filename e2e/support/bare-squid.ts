import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * Creates the project of a squid without dependencies, whose image is built within seconds. By default, its api responds with 200
 * and its processor does nothing.
 *
 * @param files texts by path in the project; they replace the default files
 * @returns the path of the project; the caller removes its parent folder
 */
export function makeBareSquid(name: string, files: Record<string, string> = {}): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'bare-squid-')), name)
  const entry = { name, version: '1.0.0', private: true }
  const allFiles = {
    'squid.yaml': bareManifest(name),
    'api.js': apiThatReturns(200, '{"data":{"__typename":"Query"}}'),
    'processor.js': 'setInterval(() => undefined, 60_000)\n',
    'package.json': JSON.stringify({ ...entry, scripts: { build: 'node --version' } }),
    'package-lock.json': JSON.stringify({ ...entry, lockfileVersion: 3, packages: { '': entry } }),
    ...files,
  }
  for (const [file, text] of Object.entries(allFiles)) {
    const path = join(folder, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  return folder
}

/** Returns the manifest of a squid without migrations. @param deploy further lines of the section `deploy`, indented by two spaces */
export const bareManifest = (name: string, deploy = ''): string => `manifest_version: subsquid.io/v0.1
name: ${name}
deploy:
${deploy}  init: false
  processor:
    cmd: [node, processor.js]
  api:
    cmd: [node, api.js]
`

/** Lines for `bareManifest` that give the squid a database. */
export const postgresAddon = '  addons:\n    postgres:\n'

/** Returns the source of a program that responds to every request with this status and text, and prints `serving <status>` when it listens. */
export const apiThatReturns = (status: number, text: string): string => `
require('node:http')
  .createServer((request, response) => response.writeHead(${status}).end(${JSON.stringify(text)}))
  .listen(process.env.GQL_PORT, () => console.log('serving ${status}'))
`
