import { alertKinds, alertRules, deploymentFailures, troubleshootingUrl, warningKinds } from '@shoal/contract'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './root.ts'

const page = readFileSync(join(root, 'site/pages/troubleshooting.md'), 'utf8')
/** The paragraphs of the troubleshooting page with their headings, by anchor. */
const paragraphs = new Map(
  page.split(/^### /m).map((text) => {
    const [, title = '', anchor = ''] = /^(.*) \{#([\w-]+)\}/.exec(text) ?? []
    return [anchor, { title, text }] as const
  }),
)
const paragraphOf = (kind: Parameters<typeof troubleshootingUrl>[0]) =>
  paragraphs.get(troubleshootingUrl(kind).split('#')[1] ?? '')
const failures = deploymentFailures.filter((kind) => kind !== 'NO')

test.each(alertKinds)('the alert %s has a paragraph with its title, cause and remedy', (kind) => {
  expect(paragraphOf(kind)?.title).toBe(alertRules[kind].title)
  expect(paragraphOf(kind)?.text).toMatch(/\*\*Cause\.\*\* \S[\s\S]*\*\*Remedy\.\*\* \S/)
})

test('the warning about outdated secrets has a paragraph', () => {
  expect(paragraphOf('SECRETS_OUTDATED')?.text).toMatch(/\*\*Cause\.\*\* \S[\s\S]*\*\*Remedy\.\*\* \S/)
})

test.each(failures)('the failure %s has a paragraph with its name, cause and remedy', (kind) => {
  expect(paragraphOf(kind)?.text).toContain(`\`${kind}\``)
  expect(paragraphOf(kind)?.text).toMatch(/\*\*Cause\.\*\* \S[\s\S]*\*\*Remedy\.\*\* \S/)
})

test('no paragraph is about a kind that does not exist', () => {
  const anchors = [...warningKinds, ...failures].map((kind) => troubleshootingUrl(kind).split('#')[1])
  expect(new Set([...paragraphs.keys()].filter((anchor) => anchor !== ''))).toEqual(new Set(anchors))
})
