import { globSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './command.ts'
import { withProgress } from './progress.ts'
import { root } from './root.ts'

type Build = {
  /** The name of the build in messages. */
  name: string
  /** A file that every build writes. */
  builtFile: string
  sources: string[]
  /** The folder in which the command runs. */
  folder: string
  command: string
  args: string[]
}

const sources = ['console/{src,build,public}/**', 'console/*.*', 'contract/src/**', 'package-lock.json']
const siteSources = [
  // Other pages are generated, and the build writes temporary files into .vitepress.
  'site/pages/{*.md,*/index.md,pictures/*}',
  'site/.vitepress/{*.ts,{build,generate,theme}/**}',
  'site/*.*',
  'docs/**/*.md',
  'examples/erc20-transfers/{*,{abi,db,src}/**}',
  'console/{build/compressed.ts,src/ui/tokens.css,public/**}',
  'contract/src/**',
  'package-lock.json',
]

/** The folder of the built gallery. */
export const galleryFolder = join(root, 'node_modules/.cache/gallery')

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

async function ensureBuild({ name, builtFile, sources, folder, command, args }: Build): Promise<void> {
  const builtAt = modifiedAt(builtFile)
  const files = globSync(sources, { cwd: root })
  if (files.every((file) => modifiedAt(join(root, file)) <= builtAt)) return
  const startedAt = new Date()
  await withProgress(`Building ${name}`, async () => {
    const { code, output } = await runCommand(command, ['build', ...args], { cwd: join(root, folder) })
    if (code !== 0) throw new Error(`${name} could not be built:\n${output.slice(-3000)}`)
  })
  // The file gets the time at which the build started, so that files edited during the build count as newer.
  utimesSync(builtFile, startedAt, startedAt)
}

const withVite = { folder: 'console', command: 'vite' }

/**
 * Builds the console, and the documentation that the server serves at `/docs`, each if a source is newer than its last build.
 * @throws with the end of the output if a build fails
 */
export async function ensureConsole(): Promise<void> {
  const builtFile = join(root, 'console/dist/index.html')
  await ensureBuild({ name: 'the console', builtFile, sources, ...withVite, args: [] })
  await ensureBuild({
    name: 'the documentation',
    builtFile: join(root, 'site/dist/csp.json'),
    sources: siteSources,
    folder: 'site',
    command: 'vitepress',
    args: [],
  })
}

/** Builds the gallery into `galleryFolder` if a source is newer than the last build. @throws with the end of the output if the build fails */
export const ensureGallery = (): Promise<void> =>
  ensureBuild({
    name: 'the gallery',
    builtFile: join(galleryFolder, 'gallery.html'),
    sources: [...sources, 'console/gallery/*.*'],
    ...withVite,
    args: ['--config', 'gallery/vite.config.ts'],
  })
