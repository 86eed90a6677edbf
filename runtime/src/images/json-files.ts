import { randomUUID } from 'node:crypto'
import { readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../error-code.ts'

/** Returns null if the file does not exist, or is incomplete. */
export async function readJson<T>(file: string): Promise<T | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || error instanceof SyntaxError) return null
    throw error
  }
}

/** Replaces the file atomically. */
export async function writeJson(file: string, value: unknown): Promise<void> {
  const unfinished = `${file}.${randomUUID()}`
  await writeFile(unfinished, JSON.stringify(value), { mode: 0o600 })
  await rename(unfinished, file)
}

/** Lists the contents of all complete files written by `writeJson` in a folder. */
export async function readAllJson<T>(dir: string): Promise<T[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.json'))
  const values = await Promise.all(names.map((name) => readJson<T>(join(dir, name))))
  return values.filter((value) => value !== null)
}
