import { expect, test } from 'vitest'
import { loadConfig } from '../../../config/config.ts'
import { alertMail, digestMail } from './alert-mails.ts'
import { Message } from './message.ts'

const config = loadConfig({})
const message = Message.parse({
  version: 1,
  id: 'test-1',
  type: 'alert.test',
  createdAt: '2026-01-01T00:00:00Z',
  organization: { code: 'acme', name: 'Sign in at evil.example https://evil.example' },
  alertId: null,
  squid: null,
  container: null,
  kind: null,
  severity: 'WARNING',
  label: 'test',
  reason: 'A test.',
  startedAt: '2026-01-01T00:00:00Z',
  endedAt: null,
})

test.each([alertMail(config, 'a@shoal.test', message), digestMail(config, 'a@shoal.test', [message, message])])(
  'the name of an organization is no link in an email about alerts: $subject',
  ({ subject, text, html }) => {
    for (const part of [subject, text, html]) expect(part).not.toMatch(/evil\.example|\/\/evil/)
  },
)
