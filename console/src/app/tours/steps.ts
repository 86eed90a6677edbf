import type { Step } from './first-tour.ts'

/** The pages that steps require. */
export const requiredPaths: Partial<Record<Step, '/settings'>> = { org_settings: '/settings' }

type ShownStep = {
  name: Step
  target: string
  title: string
  text: string
  /** The side of the target on which the popover is; by default below. */
  side?: 'right'
  /** The edge of the target with which the popover is aligned; by default its centre. Targets at an edge of the window need it. */
  align?: 'start' | 'end'
}

/** The steps with a popover. */
export const shownSteps: readonly ShownStep[] = [
  {
    name: 'personal_settings',
    target: '[data-tour=account]',
    title: 'Account settings',
    text: 'Your name, email, password and sessions are in this menu.',
    align: 'end',
  },
  {
    name: 'api_key',
    target: '[data-tour=account]',
    title: 'API tokens',
    text: 'The command-line tool signs in with an API token. Create one here, under API tokens.',
    align: 'end',
  },
  {
    name: 'org_menu',
    target: '[data-tour=organization]',
    title: 'Workspaces',
    text: 'A workspace is your playground or an organization. The playground is yours alone, with one free squid; an organization is shared with your team and made for production. Switch between them here.',
    align: 'start',
  },
  {
    name: 'org_settings',
    target: 'nav a[href="/settings"]',
    title: 'Settings and documentation',
    text: 'Manage the members, name and code of your organization in the settings. The documentation is linked below.',
    // Below its target, the popover would cover the link to the documentation.
    side: 'right',
  },
]
