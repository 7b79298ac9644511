module informer.test/probe

go 1.26.0
