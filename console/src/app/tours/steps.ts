/**
 * The steps of the first tour, in order (spec 2.4, which gives no texts for the second tour). `onboardingGuide` of the local settings
 * is the index of the current step.
 */
export const firstTour = ['personal_settings', 'api_key', 'org_menu', 'org_settings', 'done'] as const

type Step = (typeof firstTour)[number]

/** The page that a step requires. */
export const pathOf: Partial<Record<Step, '/settings'>> = { org_settings: '/settings' }

/** The index that means that the tour is over. */
export const doneStep = firstTour.indexOf('done')

type ShownStep = {
  name: Step
  target: string
  title: string
  text: string
  /** The side of the target on which the popover is; by default below. */
  side?: 'right'
}

/** The steps with a popover. */
export const shownSteps: readonly ShownStep[] = [
  {
    name: 'personal_settings',
    target: '[data-tour=account]',
    title: 'Account settings',
    text: 'Your name, email, password and sessions are in this menu.',
  },
  {
    name: 'api_key',
    target: '[data-tour=account]',
    title: 'API tokens',
    text: 'The command-line tool signs in with an API token. Create one here, under API tokens.',
  },
  {
    name: 'org_menu',
    target: '[data-tour=organization]',
    title: 'Workspaces',
    text: 'The playground is your personal workspace with one free squid. An organization is shared with your team and made for production. Switch between them here.',
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
