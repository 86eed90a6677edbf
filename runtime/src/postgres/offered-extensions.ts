import { chownSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { SystemUser } from './system-user.ts'

/** Extensions that run code in Perl, Python or Tcl, open files of the host, or connect to other servers. */
const unsafeExtensions = /(plperl|plpython|pltcl|^dblink|^file_fdw|^postgres_fdw)/

/**
 * Creates a folder in `dir` with links to the extensions that tenants may create, readable by the owner of the cluster, and returns it
 * for `extension_control_path`.
 * Called at every start, since the Postgres package may have been updated or moved.
 */
export function linkOfferedExtensions(dir: string, binaries: string, owner: SystemUser | null): string {
  const folder = join(dir, 'extensions')
  const staging = `${folder}.part`
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(join(staging, 'extension'), { recursive: true, mode: 0o700 })
  if (owner) for (const path of [staging, join(staging, 'extension')]) chownSync(path, owner.uid, owner.gid)
  const source = join(binaries, 'share/postgresql/extension')
  for (const name of readdirSync(source))
    if (!unsafeExtensions.test(name)) symlinkSync(join(source, name), join(staging, 'extension', name))
  rmSync(folder, { recursive: true, force: true })
  renameSync(staging, folder)
  return folder
}
