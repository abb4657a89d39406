"""Seeds Camunda by its own interface: a process with a user task, 150 instances, 60 tasks of their own, 40 users."""
import json
import sys
import urllib.request

BASE = sys.argv[1]
PROCESS = """<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:camunda="http://camunda.org/schema/1.0/bpmn" targetNamespace="bench">
  <process id="order" name="Order" isExecutable="true" camunda:historyTimeToLive="30">
    <startEvent id="begin"/>
    <sequenceFlow id="f1" sourceRef="begin" targetRef="split"/>
    <exclusiveGateway id="split" default="small"/>
    <sequenceFlow id="large" sourceRef="split" targetRef="approve">
      <conditionExpression>${amount &gt; 1000}</conditionExpression>
    </sequenceFlow>
    <sequenceFlow id="small" sourceRef="split" targetRef="pack"/>
    <userTask id="approve" name="Approve order" camunda:candidateGroups="management"/>
    <userTask id="pack" name="Pack order" camunda:candidateGroups="warehouse" camunda:assignee="demo"/>
    <sequenceFlow id="f2" sourceRef="approve" targetRef="pack"/>
    <sequenceFlow id="f3" sourceRef="pack" targetRef="end"/>
    <endEvent id="end"/>
  </process>
</definitions>
"""


def post(path, body, kind="application/json"):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, {"Content-Type": kind})
    return urllib.request.urlopen(request).read()


def deploy():
    line = "----seed"
    parts = [("deployment-name", "", "order"), ("data", '; filename="order.bpmn"', PROCESS)]
    body = "".join(
        f'--{line}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{text}\r\n' for name, more, text in parts
    )
    post("/deployment/create", f"{body}--{line}--\r\n".encode(), f"multipart/form-data; boundary={line}")


def main():
    deploy()
    for number in range(150):
        variables = {
            "amount": {"value": number * 13, "type": "Integer"},
            "customer": {"value": f"Customer {number % 17}", "type": "String"},
            "note": {"value": "as agreed " * 20, "type": "String"},
        }
        post("/process-definition/key/order/start", {"businessKey": f"order-{number}", "variables": variables})
    for number in range(60):
        task = {"id": f"task-{number}", "name": f"Call back {number}", "assignee": "demo", "priority": number % 5}
        post("/task/create", task)
        post(f"/task/task-{number}/variables", {"modifications": {"phone": {"value": f"555-{number}", "type": "String"}}})
        post(f"/task/task-{number}/comment/create", {"message": "Left a message."})
    for number in range(40):
        profile = {"id": f"user{number}", "firstName": f"First{number}", "lastName": f"Last{number % 7}", "email": f"u{number}@example.org"}
        post("/user/create", {"profile": profile, "credentials": {"password": "demo"}})


main()
