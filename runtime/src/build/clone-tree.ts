import { constants } from 'node:fs'
import { copyFile, lchown, link, mkdir, readdir, readlink, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../error-code.ts'

export type CloneOptions = {
  /** The owner of the new folders, links and copies; null: the user we are. */
  uid: number | null
  /** True for a file (path from the root of the tree) that the clone may share with the original as a hard link. */
  shares: (path: string) => boolean
}

/** Makes `to` a clone of the folder `from`; links are kept as they are, modes too. `to` must not exist. */
export async function cloneTree(from: string, to: string, options: CloneOptions): Promise<void> {
  await cloneFolder(from, to, '', options)
}

async function cloneFolder(from: string, to: string, below: string, options: CloneOptions): Promise<void> {
  await mkdir(to, { mode: 0o755 })
  await own(to, options.uid)
  const entries = await readdir(from, { withFileTypes: true })
  const work = entries.map(async (entry) => {
    const source = join(from, entry.name)
    const target = join(to, entry.name)
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.isDirectory()) {
      return await cloneFolder(source, target, path, options)
    }
    if (entry.isSymbolicLink()) {
      await symlink(await readlink(source), target)
      return await own(target, options.uid)
    }
    if (!options.shares(path) || !(await linked(source, target))) {
      await copyFile(source, target, constants.COPYFILE_FICLONE)
      await own(target, options.uid)
    }
  })
  await Promise.all(work)
}

/** False where there is no room for another link, or none across file systems. */
async function linked(source: string, target: string): Promise<boolean> {
  try {
    await link(source, target)
    return true
  } catch (error) {
    const code = errorCode(error)
    if (code === 'EMLINK' || code === 'EXDEV' || code === 'EPERM') {
      return false
    }
    throw error
  }
}

async function own(path: string, uid: number | null): Promise<void> {
  if (uid !== null) {
    await lchown(path, uid, uid)
  }
}
