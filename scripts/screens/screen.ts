import type { State } from './states.ts'

/** The ids of deployments in each of these states. */
export type Deployments = Record<'ok' | 'failed' | 'failedFirst' | 'running', number>

/**
 * Who opens a page: the owner of the organizations (`previewer`: in preview mode), a visitor who is signed out, or a user who has not
 * confirmed the email, accepted the terms, described the work or responded to an invitation, or who may only read.
 */
export type Persona =
  'owner' | 'previewer' | 'guest' | 'unconfirmed' | 'withoutTerms' | 'newcomer' | 'invited' | 'viewer'

/** The name of a button or of an item in a menu that is clicked, a key that is pressed, or a field that is filled in. */
export type Step = string | RegExp | { key: string } | { fill: string; with: string }

/**
 * A page for screenshots. `as`: the person who opens it, by default the owner, for whom there are screenshots of every state.
 * `press`: the steps that open a dialog, menu or popover, which must be open after the last one. `hasLostConnection`: the server stops
 * responding when the page has loaded. `responses`: payloads by the pattern of the URL, for what this installation does not have.
 * `hasOwnTheme`: the page reads the theme only when it loads.
 */
export type Screen = {
  name: string
  path: string
  as?: Persona
  press?: readonly Step[]
  hasLostConnection?: true
  responses?: Readonly<Record<string, object>>
  states?: readonly State[]
  hasOwnTheme?: true
}
