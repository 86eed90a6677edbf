import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const pages = join(import.meta.dirname, '../../site/pages')

/**
 * A code block of the documentation. `use` is the word after the language: `run` for commands that tests execute, `skip` for those that
 * they cannot execute, with the `reason` after a colon, `manifest` and `deploy` for a manifest and its section `deploy`.
 */
export type SiteBlock = { page: string; line: number; language: string; use: string; reason: string; text: string }

/** Returns all code blocks of the pages for users, in their order. Pages that the build writes from other sources are not included. */
export function siteBlocks(): SiteBlock[] {
  return globSync('{*.md,api/index.md}', { cwd: pages })
    .sort()
    .flatMap((page) => {
      const text = readFileSync(join(pages, page), 'utf8')
      return [...text.matchAll(/^```(\w*)(?: (\w+)(?:: (.+))?)?\n([\s\S]*?)^```$/gm)].map((match) => {
        const [, language = '', use = '', reason = '', code = ''] = match
        const line = text.slice(0, match.index).split('\n').length
        return { page, line, language, use, reason, text: code }
      })
    })
}
