import { accessSync, chmodSync, chownSync, constants, mkdirSync, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import type { ContainerSpec } from '../driver.ts'
import { IMAGE_MISSING_MESSAGE } from '../exit-message.ts'
import { type ImagePaths, imageDir, imagePaths } from '../image.ts'
import type { ContainerFiles, DesiredContainer } from './container-record.ts'
import type { Host } from './host.ts'
import { type Program, markProgram } from './launch-script.ts'
import { type Confinement, TMP_SHARE } from './sandbox.ts'
import { prepareWorkFolder } from './work-folder.ts'

const SYSTEM_DIRS = ['/usr/local/bin', '/usr/bin', '/bin']

/** Share of the memory limit that the V8 heap may use, so that Node reports a full heap before the kernel kills the process. */
const HEAP_SHARE = 0.7

/** Thrown when a container cannot be started. The message is a sentence for users. */
export class StartError extends Error {
  override name = 'StartError'
}

export type LaunchContext = {
  host: Host
  imagesDir: string
  /** Scripts that every Node program of a container preloads. Readable by every container. */
  preloads: string[]
  /** See `HostContext`. */
  forwarderFile: string
  files: ContainerFiles
  /** See `markProgram`. */
  mark: string
  socketDir: string
  uid: number | null
  /** See `Disks.mount`. */
  diskPrefix: string[]
  /** Maximum size of each file that the program writes, including its log; null: unlimited. */
  maxFileBytes: number | null
}

/**
 * Determines how to run a container, after checking its image and command. `commandPrefix` precedes the command that confines the program.
 * @throws StartError
 */
export function containerProgram(
  context: LaunchContext,
  desired: DesiredContainer,
): { program: Program; confinement: Confinement; commandPrefix: string[] } {
  const image = readImagePaths(context.imagesDir, desired.image)
  const { command, files: programFiles } = commandOf(context, desired.spec, image)
  const { host, files, socketDir, uid, diskPrefix, maxFileBytes } = context
  const gid = host.uidOf(`tenant ${desired.tenant}`)
  if (gid !== null) restrictToGroup(imageDir(context.imagesDir, desired.image), gid)
  const tmpDirs = host.sandbox === 'bwrap' ? [] : [files.tmp]
  for (const dir of [files.home, files.tmp]) makeOwned(dir, uid)
  const folder = prepareWorkFolder(host.workFolders, image.appDir, files.workFolder, { uid, diskPrefix })
  const readableDirs = image.readableDirs.filter((dir) => !folder.writableDirs.includes(dir))
  return {
    commandPrefix: folder.commandPrefix,
    program: markProgram(
      {
        command,
        cwd: folder.cwd,
        env: containerEnv(context, desired.spec, image, tmpDirs[0]),
        ownsUid: uid !== null,
        maxFileBytes,
      },
      context.mark,
    ),
    confinement: {
      uid,
      gid,
      readableDirs: [...readableDirs, ...context.preloads, ...programFiles],
      writableDirs: [...folder.writableDirs, files.home, socketDir, ...tmpDirs],
      tmpBytes: Math.floor(desired.spec.resources.memoryBytes * TMP_SHARE),
    },
  }
}

/** Returns the command of a container, and the files outside of its image that it needs. @throws StartError */
function commandOf(
  { forwarderFile }: LaunchContext,
  { command, provided }: ContainerSpec,
  image: ImagePaths,
): { command: string[]; files: string[] } {
  if (provided) {
    if (!('file' in provided)) throw new StartError(`This host cannot run the image ${provided.image}`)
    const { file, portVariable } = provided
    if (!isExecutable(file)) throw new StartError(`The operator's program ${file} is not an executable file`)
    return { command: ['node', forwarderFile, portVariable, file, ...command], files: [forwarderFile, file] }
  }
  const [name = ''] = command
  if (!isCommand(name, image))
    throw new StartError(`There is no command "${name}": it is neither in node_modules/.bin nor on the system`)
  return { command, files: [] }
}

function containerEnv(
  { files, preloads, socketDir }: LaunchContext,
  { env, ports, resources }: ContainerSpec,
  image: ImagePaths,
  tmp: string | undefined,
): Record<string, string> {
  const heapMiB = Math.max(16, Math.floor((resources.memoryBytes * HEAP_SHARE) / 1024 / 1024))
  const requires = preloads.map((file) => `--require ${quoteNodeOption(file)}`)
  const nodeOptions = [...requires, `--max-old-space-size=${heapMiB}`, env['NODE_OPTIONS']]
  return {
    // `npx` must not download and run a package that the squid does not depend on: anyone may register its name.
    npm_config_yes: 'false',
    ...env,
    PATH: [...image.pathDirs, ...SYSTEM_DIRS].join(delimiter),
    HOME: files.home,
    ...(tmp === undefined ? {} : { TMPDIR: tmp }),
    NODE_OPTIONS: nodeOptions.filter(Boolean).join(' '),
    SHOAL_SOCKETS: socketDir,
    SHOAL_PORTS: ports.join(','),
  }
}

/** Node splits NODE_OPTIONS at spaces outside of double quotes. */
const quoteNodeOption = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`

function readImagePaths(imagesDir: string, image: string): ImagePaths {
  try {
    return imagePaths(imagesDir, image)
  } catch (cause) {
    throw new StartError(IMAGE_MISSING_MESSAGE, { cause })
  }
}

/** True if execvp(3) would find the command. */
function isCommand(name: string, { appDir, pathDirs }: ImagePaths): boolean {
  if (name.includes('/')) return isExecutable(isAbsolute(name) ? name : resolve(appDir, name))
  return [...pathDirs, ...SYSTEM_DIRS].some((dir) => isExecutable(join(dir, name)))
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** Makes `gid` the only group that can read the directory, which protects it from other tenants even without a sandbox. */
function restrictToGroup(dir: string, gid: number): void {
  chownSync(dir, -1, gid)
  chmodSync(dir, 0o750)
}

function makeOwned(dir: string, uid: number | null): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (uid !== null) chownSync(dir, uid, uid)
}
