import { createHash } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const inlineScript = /<script(?![^>]*\bsrc=)[^>]*>([\s\S]*?)<\/script>/g

/**
 * Writes `csp.json` with the hashes of all inline scripts of the pages in a folder. The server adds the hashes to its content security
 * policy, so that only the inline scripts of this build run.
 */
export function writeInlineScriptHashes(folder: string): void {
  const scripts = new Set<string>()
  for (const page of globSync('**/*.html', { cwd: folder }))
    for (const [, text = ''] of readFileSync(join(folder, page), 'utf8').matchAll(inlineScript)) scripts.add(text)
  const scriptHashes = [...scripts].map((text) => `sha256-${createHash('sha256').update(text).digest('base64')}`)
  writeFileSync(join(folder, 'csp.json'), JSON.stringify({ scriptHashes: scriptHashes.sort() }))
}
