import { once } from 'node:events'
import { createServer } from 'node:net'
import { json } from 'node:stream/consumers'
import { parseArgs } from 'node:util'

import { accountCommands, addOrgWithAdmin, setOrgBillingStatus, type CliOptions } from '../server/src/cli/commands.ts'
import { loadConfig } from '../server/src/config/config.ts'
import { openApp } from '../server/src/startup/open-app.ts'
import type { OperatorRequest, OperatorResponse } from './operator.ts'

// The program of `startOperator`. Its argument is the path of the socket.

const commands = {
  ...accountCommands,
  'org add': { run: addOrgWithAdmin },
  'org set-status': { run: setOrgBillingStatus },
}

async function run({ settings, words, input }: OperatorRequest): Promise<unknown> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      ...Object.fromEntries(
        ['email', 'name', 'code', 'scope', 'status'].map((name) => [name, { type: 'string' as const }]),
      ),
      'password-stdin': { type: 'boolean' },
      off: { type: 'boolean' },
    },
  })
  const [subject, verb, email] = positionals
  const command = commands[`${subject} ${verb}` as keyof typeof commands]
  if (!command || !('run' in command))
    throw new Error(`The process for commands of tests cannot run: ${words.join(' ')}`)
  const options = { ...values, ...(email && { email }), ...(values['password-stdin'] && { password: input }) }
  const opened = await openApp({ ...loadConfig(settings), SHOAL_LOG_LEVEL: 'warn', SHOAL_RUNTIME: 'sim' })
  try {
    return await command.run(opened.app, options as CliOptions)
  } finally {
    await opened.close('as-found')
  }
}

const server = createServer({ allowHalfOpen: true }, (socket) => {
  // A test that ends early closes its connection.
  socket.on('error', () => socket.destroy())
  json(socket)
    .then((request) => run(request as OperatorRequest))
    .then(
      (result): OperatorResponse => ({ result }),
      (error: unknown): OperatorResponse => ({ error: (error as Error).message }),
    )
    .then((response) => socket.end(JSON.stringify(response)))
    .catch(() => socket.destroy())
})
await once(server.listen(process.argv[2]), 'listening')
process.once('disconnect', () => process.exit())
process.send?.('ready')
