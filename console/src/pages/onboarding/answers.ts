import { occupations, sources, usages, type OnboardingForm } from '@shoal/contract'

/** The questions of the welcome questionnaire and their options (spec 3). */
export const questions = [
  { name: 'occupation', custom: 'customOccupation', label: 'What do you do?', options: occupations },
  { name: 'source', custom: 'customSource', label: 'How did you hear about us?', options: sources },
  { name: 'usage', custom: 'customUsage', label: 'What will you use it for?', options: usages },
] as const

export type Answers = Record<(typeof questions)[number]['name' | 'custom'], string>

/** The answers before the user has selected any. */
export const noAnswers: Answers = {
  occupation: '',
  customOccupation: '',
  source: '',
  customSource: '',
  usage: '',
  customUsage: '',
}

/** The form to submit. The answer `Other` is replaced by the text that the user entered (spec 3). */
export function formOf(answers: Answers): OnboardingForm {
  const answerTo = (name: keyof OnboardingForm, custom: keyof Answers) =>
    (answers[name] === 'Other' ? answers[custom] : answers[name]).trim()
  return {
    occupation: answerTo('occupation', 'customOccupation'),
    source: answerTo('source', 'customSource'),
    usage: answerTo('usage', 'customUsage'),
  }
}

/** Whether the user has answered all questions. */
export const isComplete = (answers: Answers): boolean => Object.values(formOf(answers)).every((answer) => answer !== '')
