import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createCluster } from './create-cluster.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-create-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const createWithoutPrograms = () => createCluster({ dir }, join(dir, 'no-programs'), null)

function makeCluster(): void {
  mkdirSync(join(dir, 'data'))
  writeFileSync(join(dir, 'data/PG_VERSION'), '18\n')
  writeFileSync(join(dir, 'data/table'), 'rows')
}

test.each([
  { state: 'missing', record: () => {}, reason: 'there is no such file' },
  { state: 'empty', record: (file: string) => writeFileSync(file, '\n'), reason: 'the file is empty' },
  { state: 'unreadable', record: (file: string) => mkdirSync(file), reason: 'EISDIR' },
])('a cluster whose password is $state is not deleted', async ({ record, reason }) => {
  makeCluster()
  record(join(dir, 'password'))
  await expect(createWithoutPrograms()).rejects.toThrow(
    `its password cannot be read from ${join(dir, 'password')}: ${reason}`,
  )
  expect(readFileSync(join(dir, 'data/table'), 'utf8')).toBe('rows')
})

test('a cluster whose disk cannot be read is not deleted', async () => {
  // A link to itself causes an error other than that of a missing file.
  symlinkSync('data', join(dir, 'data'))
  await expect(createWithoutPrograms()).rejects.toThrow('ELOOP')
  expect(lstatSync(join(dir, 'data')).isSymbolicLink()).toBe(true)
})

test('an existing cluster keeps its password', async () => {
  makeCluster()
  writeFileSync(join(dir, 'password'), 'recorded\n')
  const address = { port: 1, password: 'other' }
  expect(await createCluster({ dir }, join(dir, 'no-programs'), null, address)).toBe('recorded')
})

test('a cluster that was created earlier and whose files are missing is not replaced by an empty one', async () => {
  const createdFile = join(dir, 'created')
  const paths = { dir: join(dir, 'mounted'), createdFile }
  mkdirSync(join(paths.dir, 'data'), { recursive: true })
  writeFileSync(join(paths.dir, 'data/PG_VERSION'), '18\n')
  writeFileSync(join(paths.dir, 'password'), 'recorded\n')
  expect(await createCluster(paths, 'no-programs', null)).toBe('recorded')
  expect(existsSync(createdFile)).toBe(true)
  rmSync(join(paths.dir, 'data'), { recursive: true })
  await expect(createCluster(paths, 'no-programs', null)).rejects.toThrow('mount it and restart Shoal')
  expect(existsSync(join(paths.dir, 'data'))).toBe(false)
})
