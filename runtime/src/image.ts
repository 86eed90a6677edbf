import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Content of `image.json` next to an image's tree. The builder writes it, the driver reads it. */
export type ImageManifest = {
  /** Absolute; contains `node` of the version requested by the squid. */
  nodeBinDir: string
  /** Absolute; contains `sqd`, `npx` and `npm`. */
  toolchainBinDir: string
  /** Absolute; contains `pnpm` or `yarn` if the squid is installed with one. */
  managerBinDir?: string | null
  /** Version of the SDK the squid uses; null when unknown. */
  sdk: string | null
}

/** Paths of an image for a program that runs in it. */
export type ImagePaths = {
  /** The squid's tree with its production dependencies; the working directory. */
  appDir: string
  /** Search path of commands, in order. */
  pathDirs: string[]
  /** Directories that programs of the image must be able to read, in addition to the system. */
  readableDirs: string[]
}

/** `<imagesDir>/<image>/` contains `app/` and `image.json`. */
export const imageDir = (imagesDir: string, image: string): string => join(imagesDir, image)
const imageAppDir = (imagesDir: string, image: string): string => join(imageDir(imagesDir, image), 'app')
const imageManifestFile = (imagesDir: string, image: string): string => join(imageDir(imagesDir, image), 'image.json')

/** @throws when the image does not exist */
function readImage(imagesDir: string, image: string): ImageManifest {
  return JSON.parse(readFileSync(imageManifestFile(imagesDir, image), 'utf8'))
}

/** Returns the paths of an image. @throws when the image does not exist */
export function imagePaths(imagesDir: string, image: string): ImagePaths {
  const { nodeBinDir, toolchainBinDir, managerBinDir } = readImage(imagesDir, image)
  const appDir = imageAppDir(imagesDir, image)
  const binDirs = [toolchainBinDir, ...(managerBinDir ? [managerBinDir] : []), nodeBinDir]
  return {
    appDir,
    pathDirs: [join(appDir, 'node_modules/.bin'), ...binDirs],
    readableDirs: [appDir, ...binDirs.map(packageDirOf)],
  }
}

/** Returns the package directory that contains `binDir`: its commands are often links to other files of the package. */
function packageDirOf(binDir: string): string {
  const dir = dirname(binDir)
  if (basename(dir) === 'node_modules') return dirname(dir)
  return existsSync(join(dir, 'package.json')) || existsSync(join(dir, 'lib/node_modules')) ? dir : binDir
}
