/** Code for receivers in Node that verifies Standard Webhooks 1.0.0 without a library. `e2e/console/slow/alerts.test.ts` runs it. */
export const verifySnippet = `import { createHmac, timingSafeEqual } from 'node:crypto'

export function isFromShoal(secret, headers, rawBody) {
  const { 'webhook-id': id, 'webhook-timestamp': sentAt } = headers
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const hash = createHmac('sha256', key).update(\`\${id}.\${sentAt}.\${rawBody}\`).digest('base64')
  const expected = Buffer.from(\`v1,\${hash}\`)
  const isFresh = Math.abs(Date.now() / 1000 - Number(sentAt)) < 300
  return isFresh && headers['webhook-signature'].split(' ').some((text) => {
    const signature = Buffer.from(text)
    return signature.length === expected.length && timingSafeEqual(signature, expected)
  })
}`
