import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ImageManifest } from '../../image.ts'
import type { LayerEntry } from './pack-layer.ts'
import { folderEntry, isFolder, textEntry, treeLayer } from './tree-layer.ts'

const TOOL_BINS = [
  '/shoal/manager/node_modules/.bin',
  '/shoal/toolchain/bin',
  '/shoal/node/bin',
  '/usr/local/bin',
  '/usr/bin',
  '/bin',
]

/** The paths of the tools and the app in an image. */
export const IMAGE_PATHS = {
  init: '/shoal/init',
  app: '/squid',
  /** The search path of commands. */
  bins: ['/squid/node_modules/.bin', ...TOOL_BINS],
  /** The search path without the app's commands, for builds. */
  toolBins: TOOL_BINS,
}

/** Shoal's own files, by their names in `/shoal`. */
const OWN_FILES = {
  init: ['../container/init.sh', 0o755],
  'build.cjs': ['../container/build.cjs', 0o644],
  'build-trees.cjs': ['../container/build-trees.cjs', 0o644],
  'introspection.cjs': ['../../process/introspection.cjs', 0o644],
  'wrapper.cjs': ['../../process/wrapper.cjs', 0o644],
} as const

/** The tools of an image: Node, `sqd` with npm, and the package manager. Images with the same tools share the layer that contains them. */
export type Tools = Pick<ImageManifest, 'nodeBinDir' | 'toolchainBinDir' | 'managerBinDir'>

/** Returns a key that identifies the content of the layer. The folders of the tools have their version in their names and never change. */
export async function toolsKey({ nodeBinDir, toolchainBinDir, managerBinDir }: Tools): Promise<string> {
  const own = await Promise.all(Object.values(OWN_FILES).map(([file]) => readOwn(file)))
  const parts = [nodeBinDir, toolchainBinDir, managerBinDir ?? null, own]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** Yields the entries of the tools' layer, which also contains the first process of containers. */
export async function* toolsEntries(tools: Tools): AsyncGenerator<LayerEntry> {
  yield folderEntry('shoal')
  for (const [name, [file, mode]] of Object.entries(OWN_FILES))
    yield textEntry(`shoal/${name}`, await readOwn(file), mode)
  yield folderEntry('shoal/node')
  yield folderEntry('shoal/node/bin')
  const node = join(tools.nodeBinDir, 'node')
  const { size } = await stat(node)
  yield { type: 'File', path: 'shoal/node/bin/node', mode: 0o755, size, body: createReadStream(node) }
  const toolchain = dirname(tools.toolchainBinDir)
  const folder = 'shoal/toolchain'
  yield* treeLayer({ from: join(toolchain, 'bin'), to: `${folder}/bin`, linksWithin: folder })
  // The squid's version of Node replaces the toolchain's.
  const isExcluded = (path: string) => /^(node-(bin|linux|darwin)-[^/]+|\.bin\/node)$/.test(path)
  yield* treeLayer({
    from: join(toolchain, 'node_modules'),
    to: `${folder}/node_modules`,
    linksWithin: folder,
    isExcluded,
  })
  const manager = tools.managerBinDir ? dirname(tools.managerBinDir) : null
  if (manager !== null && (await isFolder(manager)))
    yield* treeLayer({ from: manager, to: 'shoal/manager/node_modules' })
}

const readOwn = (file: string): Promise<string> => readFile(fileURLToPath(new URL(file, import.meta.url)), 'utf8')
