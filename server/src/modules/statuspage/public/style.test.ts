import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { darkTokens, lightTokens } from './style.ts'

const css = readFileSync(join(import.meta.dirname, '../../../../../console/src/ui/tokens.css'), 'utf8')
const [light = '', dark = ''] = css.split("[data-theme='dark']")

test.each([
  ['light', light, lightTokens],
  ['dark', dark, darkTokens],
])('the %s colours are those of the console', (_, block, tokens) => {
  for (const [name, value] of Object.entries(tokens)) expect(block).toContain(`--${name}: ${value};`)
})
