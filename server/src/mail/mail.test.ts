import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { days } from '../clock.ts'
import { startTestApp, type TestApp } from '../testing/index.ts'
import { runJob } from '../testing/run-job.ts'
import { mailJobs, renderMail } from './index.ts'

type Received = { from: string; to: string[]; raw: string }

let t: TestApp
let isDown = false
const receivedMails: Received[] = []
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onMailFrom: (_address, _session, done) => done(isDown ? new Error('451 come back later') : null),
  onData: (stream, session, done) => {
    let raw = ''
    stream.on('data', (chunk: Buffer) => (raw += chunk.toString()))
    stream.on('end', () => {
      const { mailFrom, rcptTo } = session.envelope
      receivedMails.push({ from: mailFrom ? mailFrom.address : '', to: rcptTo.map((to) => to.address), raw })
      done()
    })
  },
})

beforeAll(async () => {
  await new Promise<void>((done) => void smtp.listen(0, '127.0.0.1', done))
  const address = smtp.server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  t = await startTestApp({
    env: { SHOAL_MAIL_URL: `smtp://127.0.0.1:${port}`, SHOAL_MAIL_FROM: 'Shoal <shoal@example.com>' },
  })
})
afterAll(async () => {
  await new Promise<void>((done) => smtp.close(done))
  await t.close()
})

const mail = renderMail({
  to: 'ada@example.com',
  subject: 'Hello\r\nBcc: everybody@example.com',
  name: 'Ada & <b>',
  paragraphs: ['First.', 'Second.'],
  list: ['a <i>', 'b'],
  button: { label: 'Go', url: 'https://example.com/?a=1&b="2"' },
  note: 'Small print.',
})

test('an email has the same content as text and HTML, and content is never interpreted as HTML or headers', () => {
  expect(mail.subject).toBe('Hello Bcc: everybody@example.com')
  expect(mail.text).toBe(
    'Hello Ada & <b>,\n\nFirst.\n\nSecond.\n\n- a <i>\n- b\n\nGo:\nhttps://example.com/?a=1&b="2"\n\nSmall print.\n\nShoal\n',
  )
  for (const part of [
    'Hello Ada &#38; &#60;b&#62;,',
    'First.',
    'Second.',
    '<li>a &#60;i&#62;</li>',
    'Go</a>',
    'Small print.',
  ])
    expect(mail.html).toContain(part)
  expect(mail.html).toContain('href="https://example.com/?a=1&#38;b=&#34;2&#34;"')
})

test('an email reaches the mail server with both parts, and is deleted afterwards', async () => {
  await t.app.mailer.send(mail)
  const { rows } = await t.app.database.pool.query<{ row: string }>('select m::text as row from mails m')
  expect(rows[0]?.row).toContain('ada@example.com')
  expect(rows[0]?.row).not.toContain('First.')
  expect(await t.runJobs(mailJobs(t.app))).toBe(1)
  expect(receivedMails[0]).toMatchObject({ from: 'shoal@example.com', to: ['ada@example.com'] })
  for (const part of ['Subject: Hello Bcc: everybody@example.com', 'text/plain', 'text/html', 'Message-ID: <shoal-'])
    expect(receivedMails[0]?.raw).toContain(part)
  expect(await t.mails()).toEqual([])
})

test('an email is kept for a retry while the mail server is down', async () => {
  isDown = true
  await t.app.mailer.send(mail)
  await expect(t.runJobs(mailJobs(t.app))).rejects.toThrow('451')
  expect(await t.mails()).toHaveLength(1)
  isDown = false
  const [sendMailJob] = mailJobs(t.app)
  const [row] = (await t.app.database.pool.query<{ id: number }>('select id from mails')).rows
  await runJob(sendMailJob, { id: row?.id })
  expect(await t.mails()).toEqual([])
  expect(receivedMails).toHaveLength(2)
})

test('an email that could not be sent for a week is deleted', async () => {
  await t.app.mailer.send(mail)
  const [, deleteOldMails] = mailJobs(t.app)
  t.clock.advance(days(7))
  await runJob(deleteOldMails)
  expect(await t.mails()).toHaveLength(1)
  t.clock.advance(1)
  await runJob(deleteOldMails)
  expect(await t.mails()).toEqual([])
})
