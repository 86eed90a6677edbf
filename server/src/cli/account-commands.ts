import { tokenScopes } from '@shoal/contract'
import type { Command } from './command.ts'
import { addToken, addUser, resetUserPassword, setUserOperator } from './commands.ts'

/** The commands about users and their API tokens. */
export const accountCommands: Record<string, Command> = {
  'user add': {
    run: addUser,
    options: ['email', 'name'],
    flags: ['password-stdin'],
    summary:
      'create a user with a confirmed email and a playground; prints a generated password, which the user must change within a week, unless --password-stdin reads one from standard input, or prompts for it at a terminal',
  },
  'user reset-password': {
    run: resetUserPassword,
    options: ['email'],
    positional: 'email',
    summary:
      'give a user a generated password, which the user must change within a week; ends the sessions and API tokens of the account',
  },
  'user set-operator': {
    run: setUserOperator,
    options: ['email'],
    positional: 'email',
    flags: ['off'],
    summary: "open the operator's console (/admin) to a user; --off closes it immediately",
  },
  'token add': {
    run: addToken,
    options: ['email', 'name'],
    optional: ['scope', 'code'],
    summary: `create an API token for a user and print it; --scope: ${tokenScopes.join(', ')} (default: deploy); --code: only for this organization`,
  },
}
