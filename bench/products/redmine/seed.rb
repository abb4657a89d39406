# Seeds Redmine, in its own runner: 6 projects, 12 people, 240 issues with comments and hours, 20 news, an administrator with a key of the interface.
Setting.rest_api_enabled = '1'
Setting.notified_events = []
admin = User.find_by(login: 'admin')
admin.password = admin.password_confirmation = 'demodemo'
admin.must_change_passwd = false
admin.save!
Token.where(user: admin, action: 'api').delete_all
Token.create!(user: admin, action: 'api').update_column(:value, 'demo' * 10)

people = (1..12).map do |n|
  user = User.new(firstname: 'Person', lastname: n.to_s, mail: "person#{n}@example.org", language: 'en', status: 1)
  user.login = "person#{n}"
  user.password = user.password_confirmation = 'demodemo'
  user.save!
  user
end
field = IssueCustomField.create!(name: 'Room', field_format: 'string', is_for_all: true, is_filter: true, trackers: Tracker.all)
roles = Role.givable.to_a
projects = (0..5).map do |n|
  project = Project.create!(name: "Project #{n}", identifier: "project-#{n}", trackers: Tracker.all, is_public: true)
  people.each_with_index { |user, k| Member.create!(project: project, user: user, roles: [roles[k % roles.size]]) }
  3.times { |k| Version.create!(project: project, name: "Version #{k}") }
  4.times { |k| IssueCategory.create!(project: project, name: "Category #{k}") }
  project.reload
end
statuses, priorities, activities = IssueStatus.all.to_a, IssuePriority.all.to_a, TimeEntryActivity.shared.to_a
(0...240).each do |n|
  project = projects[n % 6]
  User.current = people[n % 12]
  issue = Issue.new(project: project, tracker: Tracker.all[n % 3], author: people[n % 12], subject: "Printer on floor #{n} stops",
                    description: "It *stops* after #{n} pages, see #1.", priority: priorities[n % priorities.size],
                    assigned_to: people[(n + 5) % 12], category: project.issue_categories[n % 4], fixed_version: project.versions[n % 3])
  issue.status = statuses[n % statuses.size]
  issue.custom_field_values = { field.id => "Room #{n % 30}" }
  issue.save!
  (n % 4).times do |k|
    issue.reload.init_journal(people[(n + k) % 12], "Comment #{k} about floor #{n}")
    issue.done_ratio = 10 * (k + 1)
    issue.save!
  end
  TimeEntry.create!(project: project, issue: issue, user: people[n % 12], author: people[n % 12], hours: 1 + n % 5, spent_on: Date.today, activity: activities[n % activities.size])
end
20.times { |n| News.create!(project: projects[n % 6], author: people[n % 12], title: "News #{n}", description: 'A printer was bought') }
