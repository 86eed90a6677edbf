import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../../site/pages')

/**
 * A code block of the documentation. `use` is the word after the language: `run` for commands that tests execute, `skip` for commands
 * that tests cannot execute (the `reason` follows after a colon), `manifest` for a manifest, and `deploy` for its section `deploy`.
 */
export type SiteBlock = { page: string; line: number; language: string; use: string; reason: string; text: string }

/** The pages with commands, in the order in which a user needs them: each uses the squids and files of the pages before it. */
export const pagesWithCommands = [
  'index.md',
  'organizations.md',
  'api/index.md',
  'deploy.md',
  'cli.md',
  'operate.md',
  'move.md',
] as const

/** Returns the files of the pages, sorted, without pages that the build writes from other sources. */
export const sitePages = (): string[] => globSync('{*.md,{api,operators}/index.md}', { cwd: folder }).sort()

/** Returns the number of lines that begin or end a code block, with any indentation and marker. */
export const countFences = (page: string): number =>
  readFileSync(join(folder, page), 'utf8').match(/^[ \t>]*(```|~~~)/gm)?.length ?? 0

/** Returns all code blocks of the pages, in the order of the pages' names. */
export function siteBlocks(): SiteBlock[] {
  return sitePages().flatMap((page) => {
    const text = readFileSync(join(folder, page), 'utf8')
    return [...text.matchAll(/^```(\w*)(?: (\w+)(?:: (.+))?)?\n([\s\S]*?)^```$/gm)].map((match) => {
      const [, language = '', use = '', reason = '', code = ''] = match
      const line = text.slice(0, match.index).split('\n').length
      return { page, line, language, use, reason, text: code }
    })
  })
}
